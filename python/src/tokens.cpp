// The functions that merge, restore and compose tokens.
#include <algorithm>

#include <mpm/mpm.hpp>

#include "python/src/border.hpp"

using namespace mpm::python;

namespace {

cv::Mat rowOf(const int* values, int length) {
    return {1, length, CV_32S, const_cast<int*>(values)};
}

void copy(const cv::Mat& from, void* to) {
    const cv::Mat whole = from.isContinuous() ? from : from.clone();
    if (!whole.empty()) std::memcpy(to, whole.data, whole.total() * whole.elemSize());
}

}  // namespace

int mpm_merge_tokens(const mpm_array* tokens, int special, float* merged, int* rows, int* map, char** error) {
    return guarded(error, [&] {
        const mpm::Merged result = mpm::mergeTokens(matrixOf(*tokens), special);
        copy(result.tokens, merged);
        copy(result.map, map);
        *rows = result.tokens.rows;
    });
}

int mpm_restore_tokens(const mpm_array* tokens, const int* map, int length, int special, float* restored,
                       char** error) {
    return guarded(
        error, [&] { copy(mpm::restoreTokens(matrixOf(*tokens), rowOf(map, length), special), restored); });
}

int mpm_compose_maps(const int* first, int length, const int* second, int clusters, int* composed,
                     char** error) {
    return guarded(error,
                   [&] { copy(mpm::composeMaps(rowOf(first, length), rowOf(second, clusters)), composed); });
}

int mpm_register_native(char** error) {
    return guarded(error, [] { mpm::registerLayers(); });
}
