// Runs one network on one frame: merged, with all tokens, and with night simulated.
#pragma once

#include <map>

#include "gui/engine/analysis.hpp"
#include "pipeline/metric/confusion.hpp"
#include "pipeline/segment/model_file.hpp"

namespace mpm::gui {

/// Used by one thread at a time, as is the network in it.
class Analyser {
public:
    Analyser(pipeline::Segmenter segmenter, ModelFactsPtr facts);

    /// Blocks that the model does not have are left out of the schedule. `follower`: of the source, for
    /// objects.
    Analysis analyse(const LiveFrame& frame, const Request& request,
                     pipeline::ObjectFollower* follower = nullptr);
    /// Runs the same frame with reuse, in another network of the same file: reuse would forget its frames
    /// whenever it is turned off. Null if not requested, or not possible.
    std::shared_ptr<const pipeline::Segmentation> reuseBeside(const Analysis& analysis,
                                                              const Request& request);
    /// Runs the same frame with all tokens, or with the schedule `with`.
    Comparison compare(const AnalysisPtr& analysis, const std::vector<int>& with = {});
    NightPair simulateNight(const AnalysisPtr& analysis, const street::NightParameters& parameters);

    const ModelFactsPtr& facts() const { return m_facts; }
    /// Replaces the facts, for other names of the classes.
    void setFacts(const ModelFactsPtr& facts) { m_facts = facts; }

private:
    /// Counts of the pixels so far, and the two sides of the comparison that they belong to.
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
    /// Selects a stream of reuse: each source has its own, apart from other runs. `fresh`: forgets its
    /// frames.
    void useStream(int stream, bool fresh);
    pipeline::Segmentation run(const cv::Mat& image, const std::vector<int>& schedule,
                               pipeline::Scores scores = pipeline::Scores::None);

    pipeline::Segmenter m_segmenter;
    ModelFactsPtr m_facts;
    std::unique_ptr<pipeline::Segmenter> m_beside;
    int m_besideGeneration = -1, m_besideStream = -1;
    bool m_reuse = false, m_reuseFailed = false;
    std::map<int, int> m_generations;  // by stream
    Scored m_scored;
};

/// A converted model whose output cannot be shown: converting it once more does not help.
class UnusableOutput : public pipeline::ModelError {
public:
    using pipeline::ModelError::ModelError;
};

/// Loads MODEL and tries it on an image; `default` falls back to random weights if no model is shipped.
/// Throws pipeline::ModelError.
std::unique_ptr<Analyser> loadAnalyser(const std::string& model);

}  // namespace mpm::gui
