// Segments images. The result is labels, features or boxes, depending on the model.
#pragma once

#include <limits>
#include <vector>

#include <opencv2/core.hpp>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// The result of a window, if an image is segmented in windows. The window may extend past the image's
/// border.
struct SegmentedWindow {
    cv::Rect place;
    cv::Mat map;    ///< CV_32S 1xN: final cluster of each image token
    cv::Size grid;  ///< image tokens across and down
};

/// Selects the pixels for which to compute the probability of the label. Coarse: every fourth pixel across
/// and down, which is enough for regions.
enum class Scores { None, Coarse, All };

/// Parameters by which a detector's objects are chosen.
struct DetectionChoice {
    float threshold = 0.5F;  ///< only objects with larger scores are chosen
    double nms = 1;          ///< if the IoU of two objects of a class is larger, only the better one is kept
    int most = std::numeric_limits<int>::max();  ///< limit on objects in an image; the best are kept
};

struct Segmentation {
    bool detector = false;              ///< whether the model gives objects instead of labels or features
    std::vector<Detection> detections;  ///< in pixels of the image, largest score first
    cv::Mat labels;           ///< CV_8U or CV_16U ids, of the image's size; empty if the model has no classes
    cv::Mat features;         ///< CV_32F, a row for each image token; only if the model has no classes
    cv::Mat scores;           ///< CV_32F, probability of the label; empty if not requested or unknown
    mpm::ImageReport tokens;  ///< the encoder's report on this image
    cv::Size grid;            ///< image tokens across and down; empty if there are several windows
    std::vector<SegmentedWindow> windows;  ///< empty if the image was segmented as a whole
    mpm::Times encoder;                    ///< times of the whole batch
    mpm::Device device = mpm::Device::Cpu;
    mpm::Precision precision = mpm::Precision::F32;
    double prepareMs = 0;  ///< time from image to blob, whole batch
    double networkMs = 0;  ///< time from blob to output, whole batch
    double labelsMs = 0;   ///< time from output to labels, this image

    double totalMs() const { return prepareMs + networkMs + labelsMs; }
};

class Segmenter {
public:
    /// segment() throws ModelError if the network gives no logits, labels, features or boxes.
    explicit Segmenter(Network network) : m_network(std::move(network)) {}

    Segmentation segment(const cv::Mat& image, Scores scores = Scores::None);
    std::vector<Segmentation> segment(const std::vector<cv::Mat>& images, Scores scores = Scores::None);

    void setDetections(const DetectionChoice& choice) { m_choice = choice; }

    Network& network() { return m_network; }
    const Network& network() const { return m_network; }
    mpm::Encoder& encoder() { return m_network.encoder(); }
    const mpm::ModelInfo& info() const { return m_network.info(); }

private:
    void addReport(const mpm::Report& report, size_t image, Segmentation& result) const;

    Network m_network;
    DetectionChoice m_choice;
};

/// Returns the objects of image `index`. `outputs`: the outputs of a detector, in the order of
/// network.detectorOutputs(); `image`: size of the original image. Throws ModelError if the outputs do not
/// match the metadata.
std::vector<Detection> objectsOf(const Network& network, const std::vector<cv::Mat>& outputs, int index,
                                 cv::Size image, const DetectionChoice& choice);

/// Returns the labels of image `index` as ids. `input`: size of the network's input. If `output` is logits
/// (BxCxHxW) of a smaller size, first stretches them to `input`. Labels (Bx1xHxW) keep their size.
/// `probabilities`: receives the probabilities of the labels, if `output` is logits.
cv::Mat labelsOf(const cv::Mat& output, int index, cv::Size input, Scores scores = Scores::None,
                 cv::Mat* probabilities = nullptr);

/// Returns the grid (tokens across and down) of an input with `tokens` patches. Of all grids with this number
/// of patches, chooses the grid whose aspect ratio is closest to that of `input`, the size of the input.
cv::Size tokenGrid(int tokens, cv::Size input);

struct Labels {
    cv::Mat ids;     ///< CV_8U for up to 256 classes, else CV_16U
    cv::Mat scores;  ///< CV_32F, probabilities of labels; a quarter as wide and high if Coarse; empty if None
};

/// Stretches logits (CV_32F, 1xCxhxw or Cxhxw) to `size` (bilinear, half-pixel centres), and returns the
/// class with the largest value at each pixel; the lowest class on ties.
Labels argmaxStretched(const cv::Mat& logits, cv::Size size, Scores scores = Scores::None);

}  // namespace mpm::pipeline
