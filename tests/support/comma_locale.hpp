// A locale with a decimal comma (0,5), like that of many users. The test creates it, because a minimal Debian
// has no such locale.
#pragma once

#include <clocale>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "support/temp_folder.hpp"

namespace mpm::test {

/// While an object exists, sets the locale of this process and of programs that it starts. Throws if the
/// locale cannot be created, because the test would then check nothing.
class CommaLocale {
public:
    CommaLocale() {
        const std::string make = "localedef -i de_DE -f UTF-8 '" + (m_folder / "de_DE.UTF-8") + "'";
        if (std::system(make.c_str()) != 0)
            throw std::runtime_error("the locale de_DE.UTF-8 cannot be made: " + make +
                                     " (Debian: libc-bin has the program, locales what it reads)");
        setenv("LOCPATH", m_folder.path().c_str(), 1);
        setenv("LC_ALL", "de_DE.UTF-8", 1);
        if (std::setlocale(LC_ALL, "") == nullptr || *std::localeconv()->decimal_point != ',')
            throw std::runtime_error("the locale de_DE.UTF-8 was made but does not write a decimal comma");
    }
    ~CommaLocale() {
        unsetenv("LOCPATH");
        unsetenv("LC_ALL");
        std::setlocale(LC_ALL, "C");
    }
    CommaLocale(const CommaLocale&) = delete;
    CommaLocale& operator=(const CommaLocale&) = delete;

private:
    TempFolder m_folder;
};

}  // namespace mpm::test
