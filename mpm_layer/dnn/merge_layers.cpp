#include "mpm_layer/dnn/merge_layers.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/control.hpp"

namespace mpm::dnn {
namespace {

int specialTokens(const cv::dnn::LayerParams& params) {
    return wholeAttribute(params, "special_tokens", 1, 0, kMostSpecialTokens);
}

// Returns the backend that the C interface or the environment names, else the backend for Auto. MpmMerge and
// MpmRestore have no handle that could name a backend. Throws if the device is missing.
std::shared_ptr<const Backend> chosenBackend() {
    Settings settings = processSettings();
    settings.deviceFromEnvironment();
    return makeBackend(settings.device.value_or(Device::Auto), settings.deviceIndex);
}

void checkTokens(const Shape& shape, int special, const char* layer) {
    if (shape.size() != 3 || shape[1] < special || shape[2] < 1) {
        CV_Error(cv::Error::StsBadArg,
                 cv::format("mpm: %s takes tokens [batch, %d special + image tokens, dim], got %s", layer,
                            special, textOf(shape).c_str()));
    }
}

void checkFloats(const cv::Mat& tokens, const char* layer) {
    if (tokens.type() != CV_32F)
        CV_Error(cv::Error::StsBadArg, std::string("mpm: ") + layer + " takes tokens as f32 only");
}

// Copies the special rows, and fills the rows after the merged rows with zeros. Returns the address for the
// merged rows.
float* frameMerged(const float* from, const MergeMap& map, int special, int rowsPerImage, size_t dim,
                   float* out) {
    std::copy_n(from, special * dim, out);
    std::fill(out + static_cast<size_t>(special + map.clusters) * dim, out + rowsPerImage * dim, 0.0f);
    return out + special * dim;
}

}  // namespace

MergeLayer::MergeLayer(const cv::dnn::LayerParams& params)
    : PortableLayer(params), m_special(specialTokens(params)) {}

std::vector<Shape> MergeLayer::outputShapes(const std::vector<Shape>& in) const {
    if (in.empty()) CV_Error(cv::Error::StsBadArg, "mpm: MpmMerge has no input");
    checkTokens(in[0], m_special, "MpmMerge");
    const int map[] = {in[0][0], in[0][1] - m_special}, counts[] = {in[0][0]};
    return {in[0], Shape(map, map + 2), Shape(counts, counts + 1)};
}

void MergeLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const std::shared_ptr<const Backend> backend = chosenBackend();
    if (in.empty())
        CV_Error(cv::Error::StsBadArg, "mpm: MpmMerge's tokens are a constant; nothing depends on the input");
    checkFloats(in[0], "MpmMerge");
    const cv::Mat tokens = in[0].isContinuous() ? in[0] : in[0].clone();
    backend->merge(tokens, m_special,
                   [&](const std::vector<MergeMap>& maps) { return place(tokens, maps, out); });
}

// If canResize() is true, resizes the outputs, because their sizes depend on the maps. Writes all values
// except the merged rows, and returns the addresses for the merged rows.
std::vector<float*> MergeLayer::place(const cv::Mat& tokens, const std::vector<MergeMap>& maps,
                                      std::vector<cv::Mat>& out) const {
    const int images = tokens.size[0], count = tokens.size[1] - m_special, dim = tokens.size[2];
    int rows = m_special + count;
    if (canResize()) {
        rows = m_special;
        for (const MergeMap& map : maps)
            rows = std::max(rows, m_special + map.clusters);
        resize(out[0], {images, rows, dim}, CV_32F);
        if (out.size() > 1) resize(out[1], {images, count}, kInteger);
        if (out.size() > 2) resize(out[2], {images}, kInteger);
    }
    std::vector<float*> merged;
    for (int i = 0; i < images; ++i) {
        merged.push_back(frameMerged(tokens.ptr<float>() + static_cast<size_t>(i) * (m_special + count) * dim,
                                     maps[i], m_special, rows, dim,
                                     out[0].ptr<float>() + static_cast<size_t>(i) * rows * dim));
        if (out.size() > 1) writeIntegers(maps[i].ids.data(), count, out[1], static_cast<size_t>(i) * count);
        if (out.size() > 2) writeIntegers(&maps[i].clusters, 1, out[2], i);
    }
    return merged;
}

RestoreLayer::RestoreLayer(const cv::dnn::LayerParams& params)
    : PortableLayer(params), m_special(specialTokens(params)) {}

std::vector<Shape> RestoreLayer::outputShapes(const std::vector<Shape>& in) const {
    if (in.size() != 2)
        CV_Error(cv::Error::StsBadArg, "mpm: MpmRestore takes two inputs, merged tokens and map");
    checkTokens(in[0], m_special, "MpmRestore");
    if (in[1].size() != 2 || in[1][0] != in[0][0]) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 "mpm: MpmRestore's map must be [batch, image tokens], got " + textOf(in[1]));
    }
    const int sizes[] = {in[0][0], checkedSum<int>(m_special, in[1][1]), in[0][2]};
    return {Shape(sizes, sizes + 3)};
}

void RestoreLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const std::shared_ptr<const Backend> backend = chosenBackend();
    const Shape shape = outputShapes(shapesOf(in))[0];
    const int images = shape[0], rows = shape[1], dim = shape[2], count = rows - m_special;
    if (canResize()) resize(out[0], {images, rows, dim}, CV_32F);
    checkFloats(in[0], "MpmRestore");
    const cv::Mat merged = in[0].isContinuous() ? in[0] : in[0].clone();
    const int left = merged.size[1] - m_special;
    const std::vector<int> ids = readIntegers(in[1], "MpmRestore's map");
    std::vector<MergeMap> maps(images);
    for (int i = 0; i < images; ++i) {
        maps[i].ids.assign(ids.begin() + static_cast<size_t>(i) * count,
                           ids.begin() + static_cast<size_t>(i + 1) * count);
        for (int id : maps[i].ids) {
            if (id >= 0 && id < left) continue;
            CV_Error(cv::Error::StsOutOfRange,
                     cv::format("mpm: MpmRestore's map has an id outside of the %d merged tokens", left));
        }
    }
    backend->restore(merged, maps, m_special, out[0]);
}

}  // namespace mpm::dnn
