#include "pipeline/segment/flops.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

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

double FlopsCounter::others(size_t index) const {
    return m_cost.otherTokens.empty() ? 0 : m_cost.otherTokens.at(index);
}

double FlopsCounter::block(size_t index, double attention, double mlp, double attended) const {
    const double rows = attention + others(index);
    double keys = (attended < 0 ? attention : attended) + others(index);
    if (!m_cost.windowed.empty() && m_cost.windowed.at(index))
        keys = (keys + m_cost.padding) / m_cost.windows;
    return 2 * rows * m_cost.attentionWeights.at(index) + 4 * rows * keys * m_cost.attentionWidth +
           2 * (mlp + others(index)) * m_cost.mlpWeights.at(index);
}

double FlopsCounter::merging(double entering, const std::string& method) const {
    const double keyWidth = double(m_cost.attentionWidth) / m_cost.heads;
    return m_cost.windows * matchingCost(method, {entering / m_cost.windows, double(m_cost.width), keyWidth});
}

std::vector<double> FlopsCounter::blocks(const mpm::ImageReport& report, const std::string& method) const {
    if (m_cost.attentionWeights.size() != report.tokens.size()) return {};
    std::vector<double> sums;
    const bool partial = report.reuse.state == mpm::ReuseState::Partial;
    for (size_t index = 0; index < report.tokens.size(); ++index) {
        if (partial) {
            const double computed = report.reuse.recomputed * report.tokens[index];
            sums.push_back(block(index, computed, computed, report.tokens[index]));
            continue;
        }
        const double entering = report.tokens[index];
        double later = entering, merged = 0;  // later: tokens of the MLP, fewer if the block merges
        for (const mpm::Stage& stage : report.stages) {
            if (stage.block != static_cast<int>(index)) continue;
            later = std::min(entering, double(stage.tokens));
            if (!m_cost.mapGiven || &stage != &report.stages.front())
                merged += merging(static_cast<double>(stage.map.total()), method);
        }
        sums.push_back(block(index, entering, later) + merged);
    }
    return sums;
}

double FlopsCounter::decoders(double share, double left) const {
    double sum = 0;
    for (const DecoderCost& decoder : m_cost.decoders) {
        const double tokens = decoder.merged ? left * decoder.tokens : decoder.tokens;
        const double all = tokens + decoder.others, rows = share * tokens + decoder.others;
        for (size_t block = 0; block < decoder.attentionWeights.size(); ++block)
            sum += 2 * rows * (decoder.attentionWeights[block] + decoder.mlpWeights[block]) +
                   4 * rows * all * decoder.width;
    }
    return sum;
}

// Returns the share of the image tokens that remains after all merges.
static double remaining(const mpm::ImageReport& report) {
    if (report.tokens.empty() || report.map.total() == 0) return 1;
    double least = report.tokens.back();
    for (const mpm::Stage& stage : report.stages)
        least = std::min(least, double(stage.tokens));
    return least / static_cast<double>(report.map.total());
}

double FlopsCounter::image(const mpm::ImageReport& report, const std::string& method) const {
    const std::vector<double> sums = blocks(report, method);
    if (sums.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double share = report.reuse.state == mpm::ReuseState::Partial ? report.reuse.recomputed : 1;
    return std::accumulate(sums.begin(), sums.end(), m_cost.around + decoders(share, remaining(report)));
}

}  // namespace mpm::pipeline
