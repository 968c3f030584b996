// Why a measurement cannot be made or finished.
#pragma once

#include <stdexcept>
#include <string>

namespace mpm::pipeline {

class MeasureError : public std::runtime_error {
public:
    enum class Kind {
        Settings,  ///< settings that do not exist or contradict each other
        Input,     ///< a model, a data set or a file that cannot be used
        Failed,    ///< failed or was stopped while running
    };

    MeasureError(Kind kind, const std::string& line) : std::runtime_error(line), m_kind(kind) {}
    Kind kind() const { return m_kind; }

private:
    Kind m_kind;
};

}  // namespace mpm::pipeline
