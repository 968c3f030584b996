// Accuracy and cost of methods on a labelled data set: every setting runs on every image.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/dataset/layouts.hpp"
#include "pipeline/measure/eval_counts.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/segment/flops.hpp"
#include "pipeline/segment/protocol.hpp"

namespace mpm::pipeline {

/// The networks of an evaluation. Each precision and batch size has a separate network, because OpenCV
/// reallocates buffers if the batch size changes. Each setting that reuses also has a separate network,
/// because reuse keeps state.
class EvalNetworks {
public:
    using Open = std::function<Network(Precision)>;

    /// `open` must open the model. any() returns one of the networks, for properties that all networks share.
    EvalNetworks(Open open, const EvalRequest& request);

    Network& of(const Setting& setting);
    const Network& any() const { return m_networks.begin()->second; }

private:
    using Key = std::tuple<Precision, int, std::string>;

    Open m_open;
    std::map<Key, Network> m_networks;
};

class Evaluation {
public:
    /// Receives the labels of each image with each setting.
    struct LabelsSink {
        std::function<void(const Setting&, const std::string& name, const cv::Mat& labels)> write;
        std::function<bool(const Setting&, const std::string& name)> has;  ///< whether the labels exist
    };

    /// `networks` must outlive this object. Throws MeasureError if model and data set do not match, if the
    /// data set cannot be used, or if the encoder rejects a method. Also throws if a method that reuses is
    /// combined with batches or shards.
    Evaluation(const EvalRequest& request, EvalNetworks& networks, const ModelCost& cost,
               const std::string& modelSha256);

    const std::vector<Setting>& settings() const { return m_settings; }

    /// Returns all groups of the shard, including groups from an earlier run. Throws MeasureError, for
    /// example if the user stops the run.
    EvalCounts run(const Watcher& watcher = {}, const LabelsSink& labels = {});

private:
    Network& network(const Setting& setting) { return m_networks.of(setting); }
    const Network& anyNetwork() const { return m_networks.any(); }
    void checkReuse() const;
    void checkClasses() const;
    void warmUp(const Setting& setting);
    EvalHead head(const std::string& modelSha256) const;
    std::vector<size_t> missingGroups(const std::vector<Group>& done) const;
    Group measure(size_t index, const Watcher& watcher, const LabelsSink& labels);
    std::vector<Sample> read(Group& group, const Watcher& watcher) const;
    /// Returns a function that gives scores to the network, if the method shares tokens by the policy Random
    /// or Oracle. Otherwise, returns an empty function.
    ProtocolSegmenter::Prepare givenScores(const Setting& setting, const std::vector<Sample>& samples);
    GroupRow measure(size_t setting, const std::vector<Sample>& samples, std::vector<cv::Mat>& labels);
    void compareWithAllTokens(Group& group, const std::vector<std::vector<cv::Mat>>& labels) const;
    ImageCounts countsOf(const Setting& setting, const Sample& sample, const ProtocolResult& result) const;

    EvalRequest m_request;
    EvalNetworks& m_networks;
    LabelledSet m_set;
    FlopsCounter m_flops;
    OwnMerging m_own;
    std::vector<Setting> m_settings;
    std::vector<ProtocolSegmenter> m_segmenters;  ///< by setting
    EvalHead m_head;
};

}  // namespace mpm::pipeline
