#include "mpm_layer/interface/guard.hpp"

#include <string>

#include <mpm/mpm.h>

namespace {

thread_local std::string t_error;

}  // namespace

namespace mpm {

void keepError(const char* text) noexcept {
    try {
        t_error = text;
    } catch (...) {
        t_error.clear();
    }
}

}  // namespace mpm

const char* mpm_last_error(void) {
    return t_error.c_str();
}
