#include "mpm_layer/interface/guard.hpp"

#include <algorithm>
#include <string>

#include <mpm/mpm.h>

#include "mpm_layer/kernels/common/limits.hpp"

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

std::vector<int> sizesOf(const mpm_array* array, const char* name) {
    if (!array) CV_Error(cv::Error::StsNullPtr, cv::format("mpm: %s is null", name));
    if (array->dims < 1 || array->dims > MPM_MAX_DIMS) {
        CV_Error(cv::Error::StsBadArg,
                 cv::format("mpm: %s must have 1 to %d dimensions, not %d", name, MPM_MAX_DIMS, array->dims));
    }
    std::vector<int> sizes(array->sizes, array->sizes + array->dims);
    checkShape(sizes, std::string("mpm: ") + name);
    return sizes;
}

cv::Mat matrixOf(const mpm_array* array, const char* name) {
    const std::vector<int> sizes = sizesOf(array, name);
    if (array->type != MPM_F32 && array->type != MPM_I32)
        CV_Error(cv::Error::StsBadArg, cv::format("mpm: %s must be MPM_F32 or MPM_I32", name));
    const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    if (!array->data && !empty) CV_Error(cv::Error::StsNullPtr, cv::format("mpm: %s has no data", name));
    const int type = array->type == MPM_F32 ? CV_32F : CV_32S;
    static float nothing = 0;  // with a null pointer, OpenCV treats the matrix as if it had no sizes
    return {static_cast<int>(sizes.size()), sizes.data(), type, array->data ? array->data : &nothing};
}

std::vector<cv::Mat> matricesOf(const mpm_array* arrays, int count, const char* name) {
    if (!arrays && count > 0) CV_Error(cv::Error::StsNullPtr, cv::format("mpm: %s are null", name));
    std::vector<cv::Mat> matrices;
    for (int i = 0; i < count; ++i)
        matrices.push_back(matrixOf(arrays + i, name));
    return matrices;
}

mpm_array arrayOf(const cv::Mat& matrix) {
    const bool known = matrix.type() == CV_32F || matrix.type() == CV_32S;
    if (!known || !matrix.isContinuous() || matrix.dims < 1 || matrix.dims > MPM_MAX_DIMS)
        CV_Error(cv::Error::StsBadArg, "mpm: the network's output is not an array of f32 or int32");
    mpm_array array{};
    array.data = matrix.data;
    array.type = matrix.type() == CV_32F ? MPM_F32 : MPM_I32;
    array.dims = matrix.dims;
    std::copy_n(matrix.size.p, matrix.dims, array.sizes);
    return array;
}

}  // namespace mpm

const char* mpm_last_error(void) {
    return t_error.c_str();
}
