// A file that takes its place only when it is known to be right.
#pragma once

#include <filesystem>
#include <string>

namespace mpm::models {

/// Write to `path()`, then `keep()`: the file is renamed to what it is meant to be. Otherwise it goes.
class Draft {
public:
    explicit Draft(std::string target) : m_target(std::move(target)), m_path(m_target + ".unchecked.onnx") {}
    ~Draft() {
        std::error_code ignored;
        std::filesystem::remove(m_path, ignored);
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    const std::string& path() const { return m_path; }
    void keep() const { std::filesystem::rename(m_path, m_target); }

private:
    std::string m_target, m_path;
};

}  // namespace mpm::models
