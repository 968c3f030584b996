#include "mpm_layer/interface/guard.hpp"

#include <string>

#include <mpm/mpm.h>

namespace {

thread_local std::string t_error;
thread_local mpm::Report t_report;

}  // namespace

namespace mpm {

void keepError(const char* text) noexcept {
    try {
        t_error = text;
    } catch (...) {
        t_error.clear();
    }
}

void keepReport(const Report& report) {
    t_report = report;
}

const Report& keptReport() {
    return t_report;
}

}  // namespace mpm

const char* mpm_last_error(void) {
    return t_error.c_str();
}
