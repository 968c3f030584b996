// Accuracy and cost of methods on a labelled data set: every setting over every image.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/dataset/layouts.hpp"
#include "pipeline/measure/eval_counts.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/segment/flops.hpp"
#include "pipeline/segment/protocol.hpp"

namespace mpm::pipeline {

/// Networks by precision and batch: each keeps its own, so that OpenCV reallocates nothing in between.
using EvalNetworks = std::map<std::pair<Precision, int>, Network>;

class Evaluation {
public:
    /// Gets the labels of each image under each setting.
    using LabelsSink =
        std::function<void(const Setting& setting, const std::string& name, const cv::Mat& labels)>;

    /// `networks` has one for each precision and batch of `request`; they must outlive this. Throws
    /// MeasureError where model and data set do not fit, the data set cannot be used, or the encoder rejects
    /// a method.
    Evaluation(const EvalRequest& request, EvalNetworks& networks, const ModelCost& cost,
               const std::string& modelSha256);

    const std::vector<Setting>& settings() const { return m_settings; }

    /// All groups of the shard, those of an earlier run included. Throws MeasureError, also where it was
    /// stopped.
    EvalCounts run(const Watcher& watcher = {}, const LabelsSink& labels = {});

private:
    Network& network(const Setting& setting) { return m_networks.at({setting.precision, setting.batch}); }
    Network& anyNetwork() const { return m_networks.begin()->second; }
    void checkClasses() const;
    void warmUp(const Setting& setting);
    EvalHead head(const std::string& modelSha256) const;
    std::vector<size_t> missingGroups(const std::vector<Group>& done) const;
    Group measure(size_t index, const Watcher& watcher, const LabelsSink& labels);
    std::vector<Sample> read(Group& group, const Watcher& watcher) const;
    GroupRow measure(size_t setting, const std::vector<Sample>& samples, const LabelsSink& labels);
    ImageCounts countsOf(const Setting& setting, const Sample& sample, const ProtocolResult& result) const;

    EvalRequest m_request;
    EvalNetworks& m_networks;
    LabelledSet m_set;
    FlopsCounter m_flops;
    std::vector<int> m_schedule;  ///< the model's own
    std::vector<Setting> m_settings;
    std::vector<ProtocolSegmenter> m_segmenters;  ///< one a setting
    EvalHead m_head;
};

}  // namespace mpm::pipeline
