#include "mpm_layer/dnn/element_layers.hpp"

#include <algorithm>

#include "base/loops.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/common/limits.hpp"
#include "mpm_layer/kernels/tokens/upsample.hpp"

namespace mpm::dnn {
namespace {

constexpr int kRowsPerTask = 16;

// A row of one class between two source rows.
void blendRows(const float* plane, int width, const kernels::Tap& tap, float* row) {
    const float* low = plane + static_cast<size_t>(tap.index) * width;
    const float* high = plane + static_cast<size_t>(tap.next) * width;
    for (int k = 0; k < width; ++k)
        row[k] = low[k] == high[k] ? low[k] : low[k] + tap.weight * (high[k] - low[k]);
}

void readPair(const cv::dnn::LayerParams& params, const char* name, int& rows, int& columns) {
    const std::vector<int> pair = wholeAttributes(params, name, 1, kLongestSide);
    if (pair.empty()) return;
    if (pair.size() != 2) rejectAttribute(params, name, "two numbers, rows and columns");
    rows = pair[0];
    columns = pair[1];
}

}  // namespace

ResizeLayer::ResizeLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 1, 1),
      m_rows(0),
      m_columns(0),
      m_cropRows(0),
      m_cropColumns(0),
      m_alignCorners(switchAttribute(params, "align_corners")),
      m_argmax(switchAttribute(params, "argmax")) {
    readPair(params, "size", m_rows, m_columns);
    m_cropRows = m_rows;
    m_cropColumns = m_columns;
    readPair(params, "crop", m_cropRows, m_cropColumns);
    if (m_rows < 1 || m_columns < 1 || m_cropRows < 1 || m_cropColumns < 1 || m_cropRows > m_rows ||
        m_cropColumns > m_columns) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmResize needs the attribute size, rows and columns, and a crop within it");
    }
    if (static_cast<std::int64_t>(m_cropRows) * m_cropColumns > kMostPixels) {
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: MpmResize gives %d x %d elements of a class; at most %lld are allowed",
                            m_cropRows, m_cropColumns, static_cast<long long>(kMostPixels)));
    }
}

std::vector<Sizes> ResizeLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes& x = operands[0];
    if (x.size() != 4 || x[2] < 1 || x[3] < 1) {
        CV_Error(cv::Error::StsBadArg,
                 "mpm: MpmResize takes [batch, classes, rows, columns], got " + textOf(toShape(x)));
    }
    return {{x[0], m_argmax ? 1 : x[1], m_cropRows, m_cropColumns}};
}

void ResizeLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const cv::Mat x = operand(in, 0);
    const int images = x.size[0], classes = x.size[1], height = x.size[2], width = x.size[3];
    const std::vector<kernels::Tap> down = kernels::bilinearTaps(height, m_rows, m_alignCorners);
    kernels::Runs across = kernels::bilinearRuns(width, m_columns, m_alignCorners);
    kernels::crop(across, m_cropColumns);
    const size_t plane = static_cast<size_t>(height) * width;
    const auto blended = [&](int above, int row, float* to) {
        blendRows(x.ptr<float>() + above * plane, width, down[row], to);
    };
    if (m_argmax) {
        parallelRanges(
            images * m_cropRows,  // fits: two sizes of the output
            [&](const cv::Range& range) {
                std::vector<float> rows(static_cast<size_t>(classes) * width);
                std::vector<int> labels(m_cropColumns);
                for (int k = range.start; k < range.end; ++k) {
                    for (int c = 0; c < classes; ++c)
                        blended(k / m_cropRows * classes + c, k % m_cropRows,
                                rows.data() + static_cast<size_t>(c) * width);
                    kernels::stretchArgmax(rows.data(), width, classes, across, labels.data());
                    writeIntegers(labels.data(), m_cropColumns, out[0],
                                  static_cast<size_t>(k) * m_cropColumns);
                }
            },
            kRowsPerTask);
        return;
    }
    const int outputRows = images * classes * m_cropRows;  // fits: three sizes of the output
    parallelRanges(outputRows, [&](const cv::Range& range) {
        std::vector<float> row(width);
        for (int k = range.start; k < range.end; ++k) {
            blended(k / m_cropRows, k % m_cropRows, row.data());
            kernels::stretchRow(row.data(), across,
                                out[0].ptr<float>() + static_cast<size_t>(k) * m_cropColumns);
        }
    });
}

}  // namespace mpm::dnn
