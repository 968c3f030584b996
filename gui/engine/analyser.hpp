// Runs the network on a frame: with merging, with all tokens, or with simulated night.
#pragma once

#include <map>

#include "gui/engine/analysis.hpp"
#include "pipeline/metric/confusion.hpp"
#include "pipeline/segment/model_file.hpp"

namespace mpm::gui {

/// Only one thread at a time may use an Analyser and its network.
class Analyser {
public:
    Analyser(pipeline::Segmenter segmenter, ModelFactsPtr facts);

    /// Ignores blocks of the schedule that the model does not have. `follower`: follows the source's objects;
    /// if null, no objects are followed.
    Analysis analyse(const LiveFrame& frame, const Request& request,
                     pipeline::ObjectFollower* follower = nullptr);
    /// Runs the analysed frame with reuse. Uses a second network from the same file, because the first one
    /// runs without reuse and keeps no values. Returns null if reuse is not requested or not possible.
    std::shared_ptr<const pipeline::Segmentation> reuseBeside(const Analysis& analysis,
                                                              const Request& request);
    /// Runs the analysed frame again with the schedule `with` or, if `with` is empty, with all tokens.
    Comparison compare(const AnalysisPtr& analysis, const std::vector<int>& with = {});
    NightPair simulateNight(const AnalysisPtr& analysis, const street::NightParameters& parameters);

    const ModelFactsPtr& facts() const { return m_facts; }
    /// Must be called after classes are renamed.
    void setFacts(const ModelFactsPtr& facts) { m_facts = facts; }

private:
    /// Pixel counts over the frames compared so far, and the settings that these frames share.
    struct Scored {
        std::vector<int> with, schedule;
        bool reuse = false;
        int generation = -1, stream = -1, frames = 0;
        std::optional<pipeline::Confusion> whole, merged;

        bool isFor(const Comparison& comparison, bool reuses) const;
    };
    void follow(Analysis& analysis, const Request& request, pipeline::ObjectFollower& follower) const;
    std::optional<Scores> score(const Comparison& comparison);
    void setReuse(bool on);
    /// Selects a stream. Reuse keeps separate values for each stream. If `fresh`, forgets the stream's
    /// earlier frames.
    void useStream(int stream, bool fresh);
    pipeline::Segmentation run(const cv::Mat& image, const std::vector<int>& schedule,
                               pipeline::Scores scores = pipeline::Scores::None);

    pipeline::Segmenter m_segmenter;
    ModelFactsPtr m_facts;
    std::unique_ptr<pipeline::Segmenter> m_beside;
    int m_besideGeneration = -1, m_besideStream = -1;
    bool m_reuse = false, m_reuseFailed = false;
    std::map<int, int> m_generations;  // the last generation of each stream
    Scored m_scored;
};

/// Thrown for a converted model whose output cannot be shown; converting the export again would not help.
class UnusableOutput : public pipeline::ModelError {
public:
    using pipeline::ModelError::ModelError;
};

/// Loads `model` and runs it once to find errors. If no model is shipped, "default" gives a model with random
/// weights. Throws pipeline::ModelError if the model cannot be used.
std::unique_ptr<Analyser> loadAnalyser(const std::string& model);

}  // namespace mpm::gui
