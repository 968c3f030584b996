// A detector on a data set in COCO's format: matches of each image, from which AP and AR are computed.
// Matches are marks of single detections, so that joined shards give the same bits as one run.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/dataset/coco_files.hpp"
#include "pipeline/measure/counts_file.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/segment/flops.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::pipeline {

struct DetectionRequest {
    std::string root, annotations;
    bool masks = false;           ///< else boxes are compared
    std::vector<Method> methods;  ///< as those of EvalRequest
    std::vector<Precision> precisions{Precision::F32};
    int limit = 0;  ///< images; 0: all
    Shard shard;
    std::string countsFile;  ///< written while measuring and continued; empty: none
};

/// The counts of a row of the table on an image.
struct DetectionCounts {
    int row = 0;
    std::int64_t image = 0;
    std::string leftOut;  ///< the file of an image that could not be used; all else is empty then
    std::string device, precision;
    std::vector<CocoMatches> matches;
    std::vector<int> tokens, schedule;
    double operations = 0, ms = 0;
    ReuseCounts reuse;
};

struct DetectionEval {
    Json head;  ///< of the run: machine, model, data set, settings, categories
    std::vector<DetectionCounts> counts;
};

class DetectionEvaluation {
public:
    using Open = std::function<Network(Precision)>;
    using Sink = std::function<void(const CocoObject& detection)>;

    /// Throws MeasureError if model and data set do not fit.
    DetectionEvaluation(const DetectionRequest& request, Open open, const std::string& modelSha256);

    /// @param costOf operations of a network
    /// @param save gets the 300 best detections of each image
    DetectionEval run(const std::function<ModelCost(const Network&)>& costOf, const Watcher& watcher,
                      const Sink& save = {});

private:
    struct Row {
        Method method;
        Precision precision;
    };

    void checkClasses(const mpm::ModelInfo& info);
    void chooseImages();
    void describe(const Network& network, const std::string& modelSha256);
    std::vector<std::int64_t> imagesOfShard() const;
    DetectionCounts measure(int row, std::int64_t image, const cv::Mat& pixels, Segmenter& segmenter,
                            const FlopsCounter& flops, const Sink& save) const;

    const DetectionRequest m_request;
    const Open m_open;
    CocoTruth m_truth;
    std::vector<std::int64_t> m_images;  ///< of all shards, in the order in which they run
    std::map<std::int64_t, std::vector<size_t>> m_objectsOf;  ///< by image
    std::map<int, std::int64_t> m_categoryOf;                 ///< by class of the model
    std::vector<Row> m_rows;
    OwnMerging m_own;
    Json m_head;
};

constexpr const char* kDetectionCounts = "mpm_detection_counts";  ///< key of their file

Json toJson(const DetectionCounts& counts);

/// Files of counts, a row a line.
CountsFormat detectionsInto(DetectionEval& eval);
DetectionEval joinDetectionCounts(const std::vector<std::string>& paths);  ///< as joinShards()

/// The table's rows, with the figures of COCO, cost and speed.
Json detectionRows(const DetectionEval& eval);

}  // namespace mpm::pipeline
