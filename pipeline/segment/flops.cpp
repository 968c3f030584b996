#include "pipeline/segment/flops.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/number.hpp"

namespace mpm::pipeline {

ModelCost costOf(const RandomModel& model) {
    constexpr double kPatch = 16;
    const double dim = model.dim, tokens = model.size.area() / (kPatch * kPatch);
    ModelCost cost;
    cost.attentionWeights.assign(model.depth, 4 * dim * dim);
    cost.mlpWeights.assign(model.depth, 8 * dim * dim);
    cost.width = cost.attentionWidth = model.dim;
    cost.heads = model.heads;
    cost.around = 2 * tokens * dim * (3 * kPatch * kPatch + model.classes);
    return cost;
}

double FlopsCounter::block(size_t index, double attention, double mlp) const {
    const double rows = attention + m_cost.special;
    return 2 * rows * m_cost.attentionWeights.at(index) + 4 * rows * rows * m_cost.attentionWidth +
           2 * (mlp + m_cost.special) * m_cost.mlpWeights.at(index);
}

double FlopsCounter::merging(double entering, const std::string& method) const {
    const double half = entering / 2, width = m_cost.width;
    if (method.rfind("mpm", 0) == 0) return entering * (entering - 1) * width;
    if (method.rfind("local", 0) == 0) {
        // Each pair of neighbours once; at the picture's rim, and after a merge, there are fewer.
        const size_t at = method.find("window=");
        const double window =
            at == std::string::npos ? 8 : readNumber(&method[at + 7], method.data() + method.size()).value;
        const double reach = 2 * window + 1;
        return entering * std::min(entering - 1, reach * reach - 1) * width;
    }
    // Even against odd, on the keys' mean over heads.
    if (method.rfind("tome", 0) == 0) return 2 * half * half * m_cost.attentionWidth / m_cost.heads;
    if (method.rfind("algm", 0) == 0) return 2 * half * half * width;  // its windows are negligible
    return 0;
}

std::vector<double> FlopsCounter::blocks(const mpm::ImageReport& report, const std::string& method) const {
    if (m_cost.attentionWeights.size() != report.tokens.size()) return {};
    std::vector<double> sums;
    for (size_t index = 0; index < report.tokens.size(); ++index) {
        const double entering = report.tokens[index];
        double later = entering, merged = 0;  // fewer in the MLP where the merge stands behind attention
        for (const mpm::Stage& stage : report.stages) {
            if (stage.block != static_cast<int>(index)) continue;
            later = std::min(entering, double(stage.tokens));
            merged += merging(static_cast<double>(stage.map.total()), method);
        }
        sums.push_back(block(index, entering, later) + merged);
    }
    return sums;
}

double FlopsCounter::image(const mpm::ImageReport& report, const std::string& method) const {
    const std::vector<double> sums = blocks(report, method);
    if (sums.empty()) return std::numeric_limits<double>::quiet_NaN();
    return std::accumulate(sums.begin(), sums.end(), m_cost.around);
}

}  // namespace mpm::pipeline
