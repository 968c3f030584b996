// The evaluation itself: every setting over every picture.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/eval/counts_file.hpp"
#include "pipeline/dataset/layouts.hpp"
#include "pipeline/segment/flops.hpp"
#include "pipeline/segment/protocol.hpp"

namespace mpm::cli {

/// Half the width of the band along boundaries, in pixels of the labels.
constexpr int kBandRadius = 3;

class EvalRun {
public:
    /// Throws Error where model, data set or counts file cannot be used.
    explicit EvalRun(const EvalOptions& options);

    /// All groups of the shard, those of an earlier run included.
    Counts run();

private:
    pipeline::Network& network(const Setting& setting) {
        return m_networks.at({setting.precision, setting.batch});
    }
    pipeline::Network& anyNetwork() { return m_networks.begin()->second; }
    void openNetworks();
    void checkClasses();
    void warmUp(const Setting& setting);
    Json head() const;
    size_t groups() const { return (m_pictures + m_step - 1) / m_step; }
    Group measure(size_t index);
    std::vector<pipeline::Sample> read(Group& group) const;
    GroupRow measure(size_t setting, const std::vector<pipeline::Sample>& samples);
    PictureCounts countsOf(const Setting& setting, const pipeline::Sample& sample,
                           const pipeline::ProtocolResult& result) const;
    std::string labelsFolder(const Setting& setting) const;

    const EvalOptions& m_options;
    std::map<std::pair<Precision, int>, pipeline::Network> m_networks;  ///< by precision and batch
    std::unique_ptr<pipeline::LabelledSet> m_set;
    std::unique_ptr<pipeline::FlopsCounter> m_flops;
    std::vector<int> m_schedule;  ///< of a bare `mpm`
    std::vector<Setting> m_settings;
    std::vector<pipeline::ProtocolSegmenter> m_segmenters;  ///< one a setting
    size_t m_pictures = 0, m_step = 1;
    Shard m_shard;
};

}  // namespace mpm::cli
