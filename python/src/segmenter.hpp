// A model and its settings behind mpm.Model: images in, results out, one thread at a time.
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

/// Milliseconds. Those of the network and the encoder are of the whole batch.
struct ResultTimes {
    double prepare = 0, network = 0, labels = 0, encoder = 0, merge = 0, restore = 0;
};

/// What a detector found, the largest score first.
struct Objects {
    explicit Objects(std::vector<Detection> sorted);

    std::vector<Detection> found;
    cv::Mat boxes;   ///< CV_32F, left, top, right, bottom of each object
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
    std::vector<cv::Vec3b> palette;                              ///< of all classes
    std::optional<Objects> objects;                              ///< of a detector
    std::optional<std::vector<pipeline::TrackedObject>> tracks;  ///< of a stream that is followed

    /// The tracks' or the objects' boxes over the image, or the colours of the classes; if the model has
    /// neither, the clusters.
    cv::Mat overlay(const cv::Mat& image) const;
};

/// The next frame of a stream whose objects are followed.
struct Follow {
    std::optional<pipeline::ObjectTracker>* tracker = nullptr;
    double seconds = 0;
};

class Segmenter {
public:
    /// Throws pipeline::ModelError.
    Segmenter(const std::string& model, cv::Size size);

    /// Each image at its index of `streams` belongs to that stream; without streams to that of its index. If
    /// the model's batch is fixed, the images go through it in groups of that size. follow: empty, or one for
    /// each image.
    std::vector<Result> run(const std::vector<cv::Mat>& images, const std::vector<std::string>& streams,
                            const std::vector<Follow>& follow = {});

    /// With reuse, the next image of this stream is computed completely. Nothing happens if there was none.
    void forget(const std::string& stream);

    /// Calls `body` with the network, when no other thread uses it.
    template <class Body>
    auto with(const Body& body) {
        const std::lock_guard<std::mutex> lock(m_guard);
        return body(m_network);
    }
    const mpm::ModelInfo& info() const { return m_network.info(); }
    const std::string& path() const { return m_network.name(); }
    int batch() const { return m_network.batch(); }

    std::string precision = "f32", device = "auto", reuse = "off";  ///< as they were set
    double threshold = 0, nms = 1;     ///< of objects' scores; of boxes that overlap
    std::vector<std::string> objects;  ///< classes that are followed; of a detector none is all

private:
    std::vector<Result> runBatch(pipeline::Network& network, const std::vector<cv::Mat>& images,
                                 const std::vector<Follow>& follow);
    void addObjects(const std::vector<cv::Mat>& outputs, int index, cv::Size image, const Follow& follow,
                    Result& result);
    void addTracks(std::vector<Detection> found, cv::Size image, const Follow& follow, Result& result) const;
    /// scores: if not null, the probabilities of coarse pixels, of the image's size; empty if unknown.
    Result resultOf(const cv::Mat& output, int index, const cv::Mat& image, const mpm::Report& report,
                    cv::Mat* scores);
    int idOf(const std::string& stream);

    std::mutex m_guard;
    /// The named streams, the last used first. The encoder keeps the state of as many.
    std::list<std::pair<std::string, int>> m_streams;
    int m_lastStream = 1 << 20;  ///< smaller ids are those of images without a name
    pipeline::Network m_network;
};

}  // namespace mpm::python
