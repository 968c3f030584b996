#include "mpm_layer/dnn/embed_layer.hpp"

#include <algorithm>

#include "parallel/loops.hpp"

namespace mpm::dnn {
namespace {

// Channels first, as a convolution leaves them: a strided read of each token, written once.
void addChannelsFirst(const float* from, int tokens, int dim, int begin, int end, float* to) {
    for (int t = begin; t < end; ++t) {
        for (int c = 0; c < dim; ++c)
            to[static_cast<size_t>(t) * dim + c] += from[static_cast<size_t>(c) * tokens + t];
    }
}

}  // namespace

EmbedLayer::EmbedLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params), m_first(params.get<int>("first", 0)) {}

cv::Ptr<cv::dnn::Layer> EmbedLayer::create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new EmbedLayer(params));
}

std::vector<Shape> EmbedLayer::outputShapes(const std::vector<Shape>& in) const {
    checkOperands(in.size(), 2, 2);
    const std::vector<int> x = operandShape(in, 0), table = operandShape(in, 1);
    const bool grid = x.size() == 4;
    if ((!grid && x.size() != 3) || table.size() != 2) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmEmbed takes patches [B, D, rows, columns] or [B, N, D] and a table [T, D]");
    }
    const int tokens = grid ? x[2] * x[3] : x[1], dim = grid ? x[1] : x[2];
    if (table[1] != dim || m_first < 0 || m_first + tokens > table[0]) {
        CV_Error(cv::Error::StsUnmatchedSizes, cv::format("mpm: MpmEmbed's table of %d rows and %d columns "
                                                          "does not fit %d patches of width %d from row %d",
                                                          table[0], table[1], tokens, dim, m_first));
    }
    return {toShape({x[0], table[0], dim})};
}

void EmbedLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0), table = operand(in, 1);
    const bool grid = x.dims == 4;
    const int images = x.size[0], rows = table.size[0], dim = table.size[1];
    const int tokens = grid ? x.size[2] * x.size[3] : x.size[1];
    const size_t size = static_cast<size_t>(tokens) * dim;
    constexpr int kChunk = 64;
    const int chunks = (tokens + kChunk - 1) / kChunk;
    for (int b = 0; b < images; ++b)
        std::copy_n(table.ptr<float>(), table.total(), out[0].ptr<float>() + b * table.total());
    parallelRanges(images * chunks, [&](const cv::Range& range) {
        for (int k = range.start; k < range.end; ++k) {
            const int b = k / chunks, begin = k % chunks * kChunk, end = std::min(tokens, begin + kChunk);
            const float* from = x.ptr<float>() + b * size;
            float* to = out[0].ptr<float>() + (static_cast<size_t>(b) * rows + m_first) * dim;
            if (grid) {
                addChannelsFirst(from, tokens, dim, begin, end, to);
            } else {
                for (size_t i = static_cast<size_t>(begin) * dim; i < static_cast<size_t>(end) * dim; ++i)
                    to[i] += from[i];
            }
        }
    });
}

}  // namespace mpm::dnn
