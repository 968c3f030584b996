// Tries a model on images, with all tokens and with merging, for tuning.
#pragma once

#include <optional>
#include <vector>

#include <opencv2/core.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/tune/tune.hpp"

namespace mpm::pipeline {

/// The kind of agreement, by the kind of output (see kAgreements). Boxes come from a detector; only boxes
/// with the same label match. A map has a single channel, for example depth.
enum class AgreementKind { Labels, Boxes, Map, Rows };

struct AgreementText {
    const char *name, *words;
};
inline constexpr AgreementText kAgreements[] = {
    {"labels", "share of labels equal to those of all tokens"},
    {"boxes", "share of boxes that match those of all tokens"},
    {"map", "1 - mean difference from the map of all tokens, relative to its mean deviation"},
    {"rows", "mean cosine to the rows of all tokens, after subtracting their mean"}};
inline const AgreementText& textOf(AgreementKind kind) {
    return kAgreements[static_cast<int>(kind)];
}

/// Returns whether an output is a map: Bx1xHxW, or BxHxW with the aspect ratio of the network's input.
bool isMap(const Network& network, const cv::Mat& output);

/// The next two functions return the agreement: 0 to 1 for labels; at most 1, perhaps negative, for maps.
double labelAgreement(const cv::Mat& full, const cv::Mat& other);
double mapAgreement(const cv::Mat& full, const cv::Mat& other);
/// Returns the mean of two shares: the shares of boxes in `full` and in `other` that have a match. A box has
/// at most one match, with an intersection over union of at least 0.75. Returns 1 if both lists are empty.
double boxAgreement(const std::vector<Detection>& full, const std::vector<Detection>& other);

/// The rows of an output: first `special` rows, then `image` rows of image tokens, then other rows, if any.
struct TokenRows {
    cv::Mat rows;  ///< CV_32F
    int special = 0, image = 0;

    bool isImage(int row) const { return row >= special && row < special + image; }
};

/// The means that agreement() subtracts from rows, computed from outputs with all tokens: a single mean of
/// all image rows of all images, and for each other row, its mean over the images.
class RowMeans {
public:
    void add(const TokenRows& full);
    double agreement(const TokenRows& full, const TokenRows& other) const;

private:
    cv::Mat meanOf(const TokenRows& rows, int row) const;

    std::vector<cv::Mat> m_others;  ///< sums by row, CV_64F; empty at image rows
    cv::Mat m_image;
    double m_imageRows = 0, m_images = 0;
};

/// Compares outputs with the outputs of all tokens, which the caller must add first.
class Agreement {
public:
    /// Adds the outputs of the next image with all tokens; a detector has several outputs. `size`: size of
    /// the image.
    void add(const Network& network, const std::vector<cv::Mat>& outputs, cv::Size size);
    /// Compares `outputs` with the outputs of all tokens on image `image`; the first added image has number
    /// 0.
    double of(const Network& network, size_t image, const std::vector<cv::Mat>& outputs) const;

    size_t size() const { return m_sizes.size(); }
    AgreementKind kind() const { return m_kind.value_or(AgreementKind::Rows); }

private:
    cv::Mat comparable(const Network& network, const cv::Mat& output) const;
    TokenRows rowsOf(const Network& network, const cv::Mat& values) const;

    std::optional<AgreementKind> m_kind;
    std::vector<cv::Size> m_sizes;
    std::vector<cv::Mat> m_full;
    std::vector<std::vector<Detection>> m_boxes;  ///< objects of a detector, instead of m_full
    RowMeans m_means;
};

struct ModelTuning {
    TuneResult result;
    AgreementKind kind = AgreementKind::Rows;
    size_t images = 0;
    Device device = Device::Cpu;
    Precision precision = Precision::F32;
};

/// Runs each image with all tokens once, then the candidates. Leaves the network with the method that ran
/// last. Throws MeasureError of kind Input if there are too few images or no block can merge, of kind Failed
/// if the time is over, or the user stops the run, before any comparison.
ModelTuning tuneModel(Network& network, const std::vector<cv::Mat>& images, const TuneGoal& goal,
                      double seconds, const Watcher& watcher = {});

/// Returns candidates for an encoder with these numbers of blocks and of image tokens in the largest window.
/// The most promising candidates come first, because the time may be too short for all.
std::vector<Method> tuneCandidates(int blocks, int tokens);

/// Selects at most `most` of the added images, about evenly spaced. Counts images of a single colour, but
/// does not select them.
class ImagePicker {
public:
    explicit ImagePicker(int most) : m_most(static_cast<size_t>(most)) {}

    void add(const cv::Mat& image);
    bool full() const { return m_kept.size() >= m_most; }
    /// Returns the images in an order in which the first n images are spread about evenly, for any n.
    std::vector<cv::Mat> images() const;
    int seen() const { return m_seen; }
    int blank() const { return m_blank; }

private:
    const size_t m_most;
    std::vector<cv::Mat> m_kept;
    int m_seen = 0, m_blank = 0, m_step = 1, m_useful = 0;
};

}  // namespace mpm::pipeline
