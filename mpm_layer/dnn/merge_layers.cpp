#include "mpm_layer/dnn/merge_layers.hpp"

#include <algorithm>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/merge/mutual_pairs.hpp"

namespace mpm::dnn {
namespace {

int specialTokens(const cv::dnn::LayerParams& params) {
    const int special = params.get<int>("special_tokens", 1);
    if (special < 0) CV_Error(cv::Error::StsBadArg, "mpm: special_tokens must not be negative");
    return special;
}

// These layers have no handle: the process and the environment choose, and a device that is not there is an
// error.
void checkDevice() {
    Settings settings = processSettings();
    settings.fallBackTo(environmentSettings());
    makeBackend(settings.device.value_or(Device::Auto), settings.deviceIndex);
}

void checkTokens(const Shape& shape, int special, const char* layer) {
    if (shape.size() != 3 || shape[1] < special || shape[2] < 1) {
        CV_Error(cv::Error::StsBadArg,
                 cv::format("mpm: %s takes tokens [batch, %d special + image tokens, dim], got %s", layer,
                            special, textOf(shape).c_str()));
    }
}

RowsView imageRows(const cv::Mat& tokens, int image, int special) {
    const int rows = tokens.size[1], dim = tokens.size[2];
    const float* data = tokens.ptr<float>() + (static_cast<size_t>(image) * rows + special) * dim;
    return {data, static_cast<size_t>(dim), rows - special, dim};
}

// One image of the output: special rows, means, zeros.
void writeMerged(const RowsView& rows, const MergeMap& map, int special, int rowsPerImage, float* out) {
    const size_t dim = rows.width;
    std::copy_n(rows.data - special * dim, special * dim, out);
    averageRows(rows, Clusters(map), {0, map.clusters}, nullptr, out + special * dim, dim);
    std::fill(out + (special + map.clusters) * dim, out + rowsPerImage * dim, 0.0f);
}

}  // namespace

MergeLayer::MergeLayer(const cv::dnn::LayerParams& params)
    : PortableLayer(params), m_special(specialTokens(params)) {}

cv::Ptr<cv::dnn::Layer> MergeLayer::create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new MergeLayer(params));
}

std::vector<Shape> MergeLayer::outputShapes(const std::vector<Shape>& in) const {
    if (in.empty()) CV_Error(cv::Error::StsBadArg, "mpm: MpmMerge has no input");
    checkTokens(in[0], m_special, "MpmMerge");
    const int map[] = {in[0][0], in[0][1] - m_special}, counts[] = {in[0][0]};
    return {in[0], Shape(map, map + 2), Shape(counts, counts + 1)};
}

void MergeLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    checkDevice();
    if (in.empty())
        CV_Error(cv::Error::StsBadArg, "mpm: MpmMerge's tokens are a constant; nothing depends on the input");
    checkTokens(shapeOf(in[0]), m_special, "MpmMerge");
    const cv::Mat tokens = in[0].isContinuous() ? in[0] : in[0].clone();
    const int images = tokens.size[0], count = tokens.size[1] - m_special, dim = tokens.size[2];
    std::vector<RowsView> views;
    for (int i = 0; i < images; ++i)
        views.push_back(imageRows(tokens, i, m_special));
    std::vector<MergeMap> maps;
    for (const std::vector<int>& nearest : nearestNeighbours(views))
        maps.push_back(pairUp(nearest));

    int rows = m_special + count;
    if (canResize()) {
        rows = m_special;
        for (const MergeMap& map : maps)
            rows = std::max(rows, m_special + map.clusters);
        resize(out[0], {images, rows, dim}, CV_32F);
        if (out.size() > 1) resize(out[1], {images, count}, kInteger);
        if (out.size() > 2) resize(out[2], {images}, kInteger);
    }
    for (int i = 0; i < images; ++i) {
        writeMerged(views[i], maps[i], m_special, rows,
                    out[0].ptr<float>() + static_cast<size_t>(i) * rows * dim);
        if (out.size() > 1) writeIntegers(maps[i].ids.data(), count, out[1], static_cast<size_t>(i) * count);
        if (out.size() > 2) writeIntegers(&maps[i].clusters, 1, out[2], i);
    }
}

RestoreLayer::RestoreLayer(const cv::dnn::LayerParams& params)
    : PortableLayer(params), m_special(specialTokens(params)) {}

cv::Ptr<cv::dnn::Layer> RestoreLayer::create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new RestoreLayer(params));
}

std::vector<Shape> RestoreLayer::outputShapes(const std::vector<Shape>& in) const {
    if (in.size() != 2)
        CV_Error(cv::Error::StsBadArg, "mpm: MpmRestore takes two inputs, merged tokens and map");
    checkTokens(in[0], m_special, "MpmRestore");
    if (in[1].size() != 2 || in[1][0] != in[0][0]) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 "mpm: MpmRestore's map must be [batch, image tokens], got " + textOf(in[1]));
    }
    const int sizes[] = {in[0][0], m_special + in[1][1], in[0][2]};
    return {Shape(sizes, sizes + 3)};
}

void RestoreLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    checkDevice();
    std::vector<Shape> shapes;
    for (const cv::Mat& m : in)
        shapes.push_back(shapeOf(m));
    const Shape shape = outputShapes(shapes)[0];
    const int images = shape[0], rows = shape[1], dim = shape[2], count = rows - m_special;
    if (canResize()) resize(out[0], {images, rows, dim}, CV_32F);
    const cv::Mat merged = in[0].isContinuous() ? in[0] : in[0].clone();
    const std::vector<int> ids = readIntegers(in[1], "MpmRestore's map");
    for (int i = 0; i < images; ++i) {
        const RowsView view = imageRows(merged, i, m_special);
        MergeMap map;
        map.ids.assign(ids.begin() + static_cast<size_t>(i) * count,
                       ids.begin() + static_cast<size_t>(i + 1) * count);
        for (int id : map.ids) {
            if (id < 0 || id >= view.count) {
                CV_Error(cv::Error::StsOutOfRange,
                         cv::format("mpm: MpmRestore's map has an id outside of the %d merged tokens",
                                    view.count));
            }
        }
        float* to = out[0].ptr<float>() + static_cast<size_t>(i) * rows * dim;
        std::copy_n(view.data - static_cast<size_t>(m_special) * dim, static_cast<size_t>(m_special) * dim,
                    to);
        restoreRows(view, map, to + static_cast<size_t>(m_special) * dim, dim);
    }
}

}  // namespace mpm::dnn
