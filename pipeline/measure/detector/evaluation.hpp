// The evaluation of a detector on a data set in COCO's format. Stores the matches of each detection, and
// computes AP and AR from the matches, so that joined shards give the same bits as a single run.
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
    bool masks = false;           ///< whether to compare masks instead of boxes
    std::vector<Method> methods;  ///< as in EvalRequest
    std::vector<Precision> precisions{Precision::F32};
    int limit = 0;  ///< largest number of images; 0: all
    Shard shard;
    std::string countsFile;  ///< written during the run, and continued if it exists; empty: none
};

/// The counts of an image for a row of the table of results.
struct DetectionCounts {
    int row = 0;
    std::int64_t image = 0;
    std::string leftOut;  ///< name of the image file if it could not be used; the counts are then empty
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

    /// Throws MeasureError if model and data set do not match.
    DetectionEvaluation(const DetectionRequest& request, Open open, const std::string& modelSha256);

    /// @param costOf must return the operations of a network
    /// @param save is called with at most 300 detections of each image, found by the method and precision of
    /// the first row
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
    std::vector<std::int64_t> m_images;                       ///< ids in all shards, in the order of the run
    std::map<std::int64_t, std::vector<size_t>> m_objectsOf;  ///< by image
    std::map<int, std::int64_t> m_categoryOf;                 ///< by class of the model
    std::vector<Row> m_rows;
    OwnMerging m_own;
    Json m_head;
};

constexpr const char* kDetectionCounts = "mpm_detection_counts";  ///< key of a file of these counts

Json toJson(const DetectionCounts& counts);

/// Returns the format of a file of counts. Reading the file stores its head and its counts in `eval`.
CountsFormat detectionsInto(DetectionEval& eval);
DetectionEval joinDetectionCounts(const std::vector<std::string>& paths);  ///< like joinShards()

/// Returns the rows of the table of results: COCO's figures, cost and speed.
Json detectionRows(const DetectionEval& eval);

}  // namespace mpm::pipeline
