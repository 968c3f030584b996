// The border of the C interface: exceptions end here, since the caller may not be C++.
#pragma once

#include <vector>

#include <mpm/mpm.h>
#include <mpm/mpm.hpp>
#include <opencv2/core.hpp>

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

/// The sizes of `array`. Throws if they are not possible; `name` begins the message.
std::vector<int> sizesOf(const mpm_array* array, const char* name);

/// The numbers of `array`. Throws if they are null or of no known type.
cv::Mat matrixOf(const mpm_array* array, const char* name);

std::vector<cv::Mat> matricesOf(const mpm_array* arrays, int count, const char* name);

/// The reverse. Throws if the matrix has gaps or another type.
mpm_array arrayOf(const cv::Mat& matrix);

}  // namespace mpm
