#include "mpm_layer/dnn/decoder_layers.hpp"

#include "base/checked.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/common/limits.hpp"

namespace mpm::dnn {
namespace {

// Models stay far below these limits, which bound the memory of a thread's tile.
constexpr int kMostHeads = 65535, kMostPoints = 1024;
constexpr size_t kMostLevels = 64;

int requiredAttribute(const cv::dnn::LayerParams& params, const char* name, int highest) {
    if (!params.has(name)) rejectAttribute(params, name, "given");
    return wholeAttribute(params, name, 1, 1, highest);
}

std::vector<cv::Size> levelsFrom(const cv::dnn::LayerParams& params) {
    const std::vector<int> sizes = wholeAttributes(params, "levels", 1, kLongestSide);
    if (sizes.empty() || sizes.size() % 2 || sizes.size() > 2 * kMostLevels)
        rejectAttribute(params, "levels", "rows and columns of 1 to 64 levels, one after another");
    std::vector<cv::Size> levels;
    for (size_t k = 0; k < sizes.size(); k += 2)
        levels.emplace_back(sizes[k + 1], sizes[k]);
    return levels;
}

bool repeats(int size, int count) {
    return size == 1 || size == count;
}

}  // namespace

DeformableLayer::DeformableLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 4, 4),
      m_heads(requiredAttribute(params, "heads", kMostHeads)),
      m_points(requiredAttribute(params, "points", kMostPoints)),
      m_levels(levelsFrom(params)) {
    for (const cv::Size& level : m_levels)
        m_positions = checkedSum<int>(m_positions, checkedProduct<int>(level.width, level.height));
}

decoder::DeformableShape DeformableLayer::checkedShape(const std::vector<Sizes>& operands) const {
    const Sizes &value = operands[0], &offsets = operands[1], &logits = operands[2], &reference = operands[3];
    const auto reject = [&](const std::string& expected) {
        rejectSizes("MpmDeformable takes " + expected, operands);
    };
    if (value.size() != 3 || offsets.size() != 3 || logits.size() != 3 || reference.size() != 4) {
        reject(
            "value [batch, positions, channels], offsets [batch, queries, samples * 2], logits [batch, "
            "queries, samples] and reference [batch, queries, levels, 2]");
    }
    if (value[1] != m_positions)
        reject(cv::format("a value with the %d positions of its levels", m_positions));
    if (value[2] < 1 || value[2] % m_heads) reject(cv::format("channels that its %d heads divide", m_heads));
    const int levels = static_cast<int>(m_levels.size());
    const auto samples = checkedProduct<std::int64_t>(m_heads, levels, m_points);
    if (logits[2] != samples || offsets[2] != 2 * samples) {
        reject(cv::format("%lld logits and twice as many offsets a query (%d heads, %d levels, %d points)",
                          static_cast<long long>(samples), m_heads, levels, m_points));
    }
    const int images = value[0], queries = logits[1];
    if (offsets[0] != images || logits[0] != images || !repeats(reference[0], images))
        reject("inputs of one batch");
    if (offsets[1] != queries || reference[1] != queries || !repeats(reference[2], levels) ||
        reference[3] != 2) {
        reject("a reference of x and y for each query, and for each level or for all");
    }
    return {queries, m_heads, m_points, value[2] / m_heads, m_levels, reference[2] > 1};
}

std::vector<Sizes> DeformableLayer::outputSizes(const std::vector<Sizes>& operands) const {
    checkedShape(operands);
    return {{operands[0][0], operands[2][1], operands[0][2]}};
}

// Counts 2 operations for each of the four corners of a sample.
int64 DeformableLayer::operations(const std::vector<Sizes>&, const Sizes& output) const {
    return checkedProduct<int64>(2, 4, checkedTotal<int64>(output), m_levels.size(), m_points);
}

void DeformableLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    const std::vector<Sizes> sizes = operandSizes(in);
    std::vector<cv::Mat> operands;
    for (size_t k = 0; k < sizes.size(); ++k)
        operands.push_back(operand(in, k));
    const decoder::Deformable deformable(checkedShape(sizes));
    if (out[0].empty()) return;
    for (int i = 0; i < sizes[0][0]; ++i) {
        const auto of = [&](size_t k) { return operands[k].ptr<float>(sizes[k][0] == 1 ? 0 : i); };
        const size_t elements = out[0].total() / sizes[0][0];
        deformable.run({of(0), of(1), of(2), of(3), out[0].ptr<float>() + i * elements});
    }
}

}  // namespace mpm::dnn
