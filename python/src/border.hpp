// Helpers for mpm_model.h: they convert exceptions to a status and a message, and matrices to arrays.
#pragma once

#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "python/src/mpm_model.h"

struct mpm_buffer {
    cv::Mat mat;
};

namespace mpm::python {

using Json = nlohmann::json;

/// Thrown for an invalid value; becomes ValueError in Python.
class WrongValue : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown if the caller's callback asked to stop.
class Stopped : public std::exception {};

/// Returns a copy of the text, which mpm_free() releases; null only if memory runs out.
inline char* textOf(const std::string& text) noexcept {
    return strdup(text.c_str());
}

/// Returns JSON as text, and replaces bytes that are not UTF-8.
template <class AnyJson = Json>
char* jsonText(const AnyJson& json) {
    return textOf(json.dump(-1, ' ', false, AnyJson::error_handler_t::replace));
}

template <class Body>
int guarded(char** error, const Body& body) noexcept {
    const auto fail = [&](int status, const char* text) {
        if (error) *error = textOf(text);
        return status;
    };
    try {
        body();
        return MPM_OK;
    } catch (const Stopped&) {
        return MPM_STOPPED;
    } catch (const WrongValue& wrong) {
        return fail(MPM_WRONG_VALUE, wrong.what());
    } catch (const cv::Exception& failure) {
        return fail(MPM_FAILED, failure.err.c_str());
    } catch (const std::bad_alloc&) {
        return fail(MPM_FAILED, "out of memory");
    } catch (const std::exception& failure) {
        return fail(MPM_FAILED, failure.what());
    } catch (...) {
        return fail(MPM_FAILED, "unknown error");
    }
}

/// Returns a matrix in the array's memory. If `channels` is true, the last of three axes becomes the
/// channels.
cv::Mat matrixOf(const mpm_array& array, bool channels = false);

/// Returns an array that uses the memory of `matrix`, which must be continuous.
mpm_array arrayOf(const cv::Mat& matrix);

/// Returns a buffer that contains the matrix, or a copy if the matrix is not continuous. The caller
/// must not use the matrix afterwards.
mpm_buffer* bufferOf(const cv::Mat& matrix);

/// Returns the arrays as BGR images, without a copy. Throws if a type or shape is wrong.
std::vector<cv::Mat> imagesOf(const mpm_array* images, int count);

}  // namespace mpm::python
