// The parameters that reducers declare, and the parser of their values in "NAME:KEY=VALUE,KEY=VALUE".
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace mpm {

/// How many pairs merge: a share of all pairs, but not more than `most`. The default is all pairs.
struct Amount {
    double share = 1;
    int most = std::numeric_limits<int>::max();

    bool isAll() const { return share == 1 && most == std::numeric_limits<int>::max(); }
    int of(int pairs) const;
};

struct Parameter {
    static Parameter number(const std::string& key, double fallback, double lowest, double highest);
    static Parameter integer(const std::string& key, int fallback, int lowest, int highest);
    /// Declares a choice between words; the first word is the default.
    static Parameter word(const std::string& key, const std::vector<std::string>& words);
    /// Declares "all" (the default), a share with a decimal point, or a count.
    static Parameter amount(const std::string& key);

    std::string fallback() const;  ///< the default as text
    std::string values() const;    ///< the allowed values as text: "0..100000" or "plain, weighted"

    std::string key;
    double value = 0, lowest = 0, highest = 0;  ///< the default and its range; unused for words and amounts
    bool whole = false;
    std::vector<std::string> words;
    bool isAmount = false;
};

/// The parts of a method's text: a name, and values by key. The constructor throws if a part after the colon
/// is not KEY=VALUE, or if a key occurs twice.
struct MethodText {
    explicit MethodText(const std::string& text);

    std::string name;
    std::map<std::string, std::string> values;
};

/// A value for each declared parameter.
class Arguments {
public:
    /// Throws on an unknown parameter and on a value outside its range.
    Arguments(const MethodText& method, const std::vector<Parameter>& declared);

    double number(const std::string& key) const { return m_numbers.at(key); }
    int integer(const std::string& key) const { return static_cast<int>(m_numbers.at(key)); }
    bool is(const std::string& key, const std::string& word) const { return m_words.at(key) == word; }
    const Amount& amount(const std::string& key) const { return m_amounts.at(key); }

private:
    std::map<std::string, double> m_numbers;
    std::map<std::string, std::string> m_words;
    std::map<std::string, Amount> m_amounts;
};

}  // namespace mpm
