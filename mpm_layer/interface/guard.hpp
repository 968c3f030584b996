// The guards of the C interface catch all exceptions, because the caller may not be a C++ program.
#pragma once

#include <vector>

#include <mpm/mpm.h>
#include <mpm/mpm.hpp>
#include <opencv2/core.hpp>

namespace mpm {

/// Keeps the text for mpm_last_error(). Never throws, even if there is no memory for the text.
void keepError(const char* text) noexcept;

/// keepReport() copies a report for mpm_report_*(). keptReport() returns the calling thread's last copy.
void keepReport(const Report& report);
const Report& keptReport();

/// Returns the result of `body`, or `failed` if `body` throws.
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

/// Returns the sizes of `array`. Throws if the sizes are invalid; the message contains `name`.
std::vector<int> sizesOf(const mpm_array* array, const char* name);

/// Returns `array` as a matrix, without a copy. Throws if the sizes, the type or the data are invalid.
cv::Mat matrixOf(const mpm_array* array, const char* name);

std::vector<cv::Mat> matricesOf(const mpm_array* arrays, int count, const char* name);

/// Describes a matrix as an array. Throws if the matrix is not continuous, or is neither f32 nor int32.
mpm_array arrayOf(const cv::Mat& matrix);

}  // namespace mpm
