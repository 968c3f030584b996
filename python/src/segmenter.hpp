// A model and its settings, for mpm.Model: turns images into results.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/objects/tracker.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::python {

/// Milliseconds for the whole batch; only `labels` is the time of a single image.
struct ResultTimes {
    double prepare = 0, network = 0, labels = 0, encoder = 0, merge = 0, restore = 0;
};

/// The objects that a detector found, the largest score first.
struct Objects {
    explicit Objects(std::vector<Detection> sorted);

    std::vector<Detection> found;
    cv::Mat boxes;   ///< CV_32F, a row of left, top, right and bottom for each object
    cv::Mat scores;  ///< CV_32F, a row for each object
    cv::Mat ids;     ///< CV_32S, a row for each object
    bool masks = false;
};

struct Result {
    cv::Mat labels;    ///< CV_8U or CV_16U ids, of the image's size; empty if the model has no classes
    cv::Mat features;  ///< the network's output for this image
    mpm::ImageReport tokens;
    cv::Size grid;  ///< image tokens across and down
    ResultTimes times;
    std::string device, precision;
    std::vector<std::string> classes;
    std::vector<cv::Vec3b> palette;                              ///< colours of all classes
    std::optional<Objects> objects;                              ///< only of a detector
    std::optional<std::vector<pipeline::TrackedObject>> tracks;  ///< only of a stream with tracking

    /// Draws colours of classes and boxes of tracks or objects over the image. If the result has neither,
    /// draws the merge map.
    cv::Mat overlay(const cv::Mat& image) const;
};

/// The next frame of a stream whose objects are tracked.
struct Follow {
    std::optional<pipeline::ObjectTracker>* tracker = nullptr;
    double seconds = 0;
};

class Segmenter {
public:
    /// Throws pipeline::ModelError.
    Segmenter(const std::string& model, cv::Size size);

    /// Runs the model. Image i belongs to streams[i], or to stream i if `streams` is empty. If the model's
    /// batch is fixed, images run in groups of this size. `follow`: empty, or an entry for each image.
    std::vector<Result> run(const std::vector<cv::Mat>& images, const std::vector<std::string>& streams,
                            const std::vector<Follow>& follow = {});

    /// Forgets the earlier images of a stream, so that reuse computes the next image completely.
    void forget(const std::string& stream);

    /// Calls `body` with the network, while no other thread uses the network.
    template <class Body>
    auto with(const Body& body) {
        const std::lock_guard<std::mutex> lock(m_guard);
        return body(m_network);
    }
    const mpm::ModelInfo& info() const { return m_network.info(); }
    const std::string& path() const { return m_network.name(); }
    int batch() const { return m_network.batch(); }

    std::string precision = "f32", device = "auto", reuse = "off";  ///< as the caller set them
    double threshold = 0, nms = 1;     ///< objects have larger scores; largest overlap of boxes
    std::vector<std::string> objects;  ///< tracked classes; for a detector, empty means all

private:
    std::vector<Result> runBatch(pipeline::Network& network, const std::vector<cv::Mat>& images,
                                 const std::vector<Follow>& follow);
    void addObjects(const std::vector<cv::Mat>& outputs, int index, cv::Size image, const Follow& follow,
                    Result& result);
    void addTracks(std::vector<Detection> found, cv::Size image, const Follow& follow, Result& result) const;
    /// `scores`: if not null, receives the probability of the label at each pixel, scaled up to the image's
    /// size; empty if unknown.
    Result resultOf(const cv::Mat& output, int index, const cv::Mat& image, const mpm::Report& report,
                    cv::Mat* scores);
    int idOf(const std::string& stream);

    std::mutex m_guard;
    /// Name and id of each named stream, the most recently used first.
    std::list<std::pair<std::string, int>> m_streams;
    int m_lastStream = 1 << 20;  ///< smaller ids are for images without a named stream
    pipeline::Network m_network;
};

}  // namespace mpm::python
