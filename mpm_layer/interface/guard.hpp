// The border of the C interface: exceptions end here, since the caller may not be C++.
#pragma once

#include <mpm/mpm.hpp>

namespace mpm {

/// Keeps the text for mpm_last_error(). Never throws, even without memory for it.
void keepError(const char* text) noexcept;

/// Keeps a copy of a report for mpm_report_*(), and gives the report that the calling thread kept last.
void keepReport(const Report& report);
const Report& keptReport();

/// The result of `body`, or `failed` after an exception.
template <class Body, class Result>
Result guarded(const Body& body, Result failed) {
    try {
        return body();
    } catch (const cv::Exception& e) {
        keepError(e.err.c_str());
    } catch (const std::exception& e) {
        keepError(e.what());
    } catch (...) {
        keepError("mpm: unknown error");
    }
    return failed;
}

template <class Body>
int guarded(const Body& body) {
    return guarded(body, -1);
}

}  // namespace mpm
