// "NAME:KEY=VALUE,KEY=VALUE" as a method's name and its parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace mpm {

class Parameters {
public:
    /// Throws where the text has another form.
    explicit Parameters(const std::string& method);

    const std::string& name() const { return m_name; }
    /// The default where absent; throws outside lowest..highest.
    double number(const std::string& key, double fallback, double lowest, double highest);
    int integer(const std::string& key, int fallback, int lowest, int highest);
    std::string word(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& allowed);
    /// Throws if a parameter was given that the reducer does not have.
    void finish() const;

private:
    [[noreturn]] void refuse(const std::string& key, const std::string& expected) const;

    std::string m_name;
    std::map<std::string, std::string> m_values;
    std::map<std::string, bool> m_used;
};

}  // namespace mpm
