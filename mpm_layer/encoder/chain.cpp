#include "mpm_layer/encoder/chain.hpp"

#include <algorithm>
#include <iterator>

#include "base/printable.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

Segments::Segments(const EncoderConfig& first)
    : m_chain(first.chain), m_chainBlocks(first.chainBlocks), m_window(first.window), m_grid(first.grid) {
    add(first);
}

bool Segments::takes(const EncoderConfig& next) const {
    int blocks = 0;
    for (const Range& range : m_ranges)
        blocks += range.last - range.first + 1;
    return next.chainBlocks > 0 && next.chain == m_chain && next.chainBlocks == m_chainBlocks &&
           next.firstBlock > m_ranges.back().first && blocks < m_chainBlocks;
}

void Segments::add(const EncoderConfig& next) {
    m_ranges.push_back({next.firstBlock, next.lastBlock()});
    m_methods.push_back(next.method);
    std::vector<int> all;
    std::set_union(m_schedule.begin(), m_schedule.end(), next.schedule.begin(), next.schedule.end(),
                   std::back_inserter(all));
    m_schedule = all;
    const bool same = next.window == m_window && (!next.windowed() || next.grid == m_grid);
    m_sameWindows = m_sameWindows && same;
}

void Segments::check() const {
    if (m_chainBlocks == 0) return;
    for (const std::string& other : m_methods) {
        if (other == method()) continue;
        CV_Error(cv::Error::StsBadArg, "mpm: the segments of chain '" + printable(m_chain, 80) +
                                           "' must have one method; there are '" + printable(method(), 80) +
                                           "' and '" + printable(other, 80) + "'");
    }
    if (!m_sameWindows) {
        CV_Error(cv::Error::StsBadArg, "mpm: the segments of chain '" + printable(m_chain, 80) +
                                           "' must have the same attributes window and grid");
    }
    int next = 0;
    bool whole = true;
    std::string found;
    for (const Range& range : m_ranges) {
        found += cv::format("%s%d..%d", found.empty() ? "" : ", ", range.first, range.last);
        whole = whole && range.first == next;
        next = range.last + 1;
    }
    if (whole && next == m_chainBlocks) return;
    CV_Error(cv::Error::StsBadArg,
             cv::format("mpm: the segments of chain '%s' must cover its blocks 0..%d without gap or overlap; "
                        "there are %s",
                        printable(m_chain, 80).c_str(), m_chainBlocks - 1, found.c_str()));
}

void numberByRepresentative(ImageReport& image) {
    MergeMap composed = identityMap(static_cast<int>(image.map.total()));
    std::vector<int> before(composed.clusters);
    for (int i = 0; i < composed.clusters; ++i)
        before[i] = i;
    for (Stage& stage : image.stages) {
        const MergeMap map = toMergeMap(stage.map, "a stage");
        composed = compose(composed, map);
        const std::vector<int> order = representativeOrder(composed);
        cv::Mat renumbered(stage.map.size(), CV_32S);
        for (int i = 0; i < map.tokens(); ++i)
            renumbered.at<int>(before[i]) = order[map.ids[i]];
        stage.map = renumbered;
        before = order;
    }
    renumber(composed, before);
    image.map = toMat(composed);
}

namespace {

bool sameMap(const cv::Mat& a, const cv::Mat& b) {
    return a.total() == b.total() && (a.empty() || std::equal(a.begin<int>(), a.end<int>(), b.begin<int>()));
}

void extendImage(ImageReport& whole, const EncoderConfig& segment, ImageReport& part) {
    if (static_cast<int>(whole.tokens.size()) != segment.firstBlock) {
        CV_Error(
            cv::Error::StsBadArg,
            cv::format("mpm: blocks %d..%d of chain '%s' did not run behind block %d", segment.firstBlock,
                       segment.lastBlock(), printable(segment.chain, 80).c_str(), segment.firstBlock - 1));
    }
    auto first = part.stages.begin();
    if (segment.takesMap && first != part.stages.end() && sameMap(first->map, whole.map)) ++first;
    whole.stages.insert(whole.stages.end(), first, part.stages.end());
    whole.tokens.insert(whole.tokens.end(), part.tokens.begin(), part.tokens.end());
    whole.map = part.map;
    whole.reuse.meanDrift = part.reuse.meanDrift;
    whole.reuse.largestDrift = part.reuse.largestDrift;
}

}  // namespace

void extendReport(Report& whole, const EncoderConfig& segment, Report part) {
    if (whole.images.size() != part.images.size()) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: blocks %d..%d of chain '%s' got a batch of %d, the blocks before one of %d",
                            segment.firstBlock, segment.lastBlock(), printable(segment.chain, 80).c_str(),
                            static_cast<int>(part.images.size()), static_cast<int>(whole.images.size())));
    }
    for (size_t i = 0; i < whole.images.size(); ++i)
        extendImage(whole.images[i], segment, part.images[i]);
    whole.times.merge += part.times.merge;
    whole.times.restore += part.times.restore;
    whole.times.whole += part.times.whole;
    whole.device = part.device;
    whole.precision = part.precision;
    whole.keptInF32.insert(whole.keptInF32.end(), part.keptInF32.begin(), part.keptInF32.end());
}

}  // namespace mpm
