// Trials of a model on images, with and without merging, for tuning.
#pragma once

#include <optional>
#include <vector>

#include <opencv2/core.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/tune/tune.hpp"

namespace mpm::pipeline {

/// How agreement is measured, by the kind of output (see kAgreements). Boxes are of a detector, and match
/// only with the same label. A map has one channel, for example depth.
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

/// Whether an output has one channel in the image's shape, for example depth.
bool isMap(const Network& network, const cv::Mat& output);

/// Agreement on an image: usually 0 to 1; of maps and rows also less than 0.
double labelAgreement(const cv::Mat& full, const cv::Mat& other);
double mapAgreement(const cv::Mat& full, const cv::Mat& other);
/// Returns the mean of two shares: of the boxes of each side that have a match. A box matches at most one box
/// of the other side, with an intersection over union of at least 0.75. Returns 1 if neither side has boxes.
double boxAgreement(const std::vector<Detection>& full, const std::vector<Detection>& other);

/// The rows of an output: first `special` rows, then `image` rows of image tokens; more may follow.
struct TokenRows {
    cv::Mat rows;  ///< CV_32F
    int special = 0, image = 0;

    bool isImage(int row) const { return row >= special && row < special + image; }
};

/// Means over outputs with all tokens: a mean of all image rows together, and a mean of each other row.
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

/// The agreement of outputs with those of all tokens, which must be added first.
class Agreement {
public:
    /// Adds the next image's outputs with all tokens; a detector has several. `size`: size of the image.
    void add(const Network& network, const std::vector<cv::Mat>& outputs, cv::Size size);
    /// Returns the agreement of other outputs on an added image; `image` counts from 0.
    double of(const Network& network, size_t image, const std::vector<cv::Mat>& outputs) const;

    size_t size() const { return m_sizes.size(); }
    AgreementKind kind() const { return m_kind.value_or(AgreementKind::Rows); }

private:
    cv::Mat comparable(const Network& network, const cv::Mat& output) const;
    TokenRows rowsOf(const Network& network, const cv::Mat& values) const;

    std::optional<AgreementKind> m_kind;
    std::vector<cv::Size> m_sizes;
    std::vector<cv::Mat> m_full;
    std::vector<std::vector<Detection>> m_boxes;  ///< of a detector, instead of m_full
    RowMeans m_means;
};

struct ModelTuning {
    TuneResult result;
    AgreementKind kind = AgreementKind::Rows;
    size_t images = 0;
    Device device = Device::Cpu;
    Precision precision = Precision::F32;
};

/// Runs all images with all tokens once, then the candidates. The last method remains set in the network.
/// Throws MeasureError: Input if there are too few images or no block can merge, Failed if the time is over
/// before anything was compared.
ModelTuning tuneModel(Network& network, const std::vector<cv::Mat>& images, const TuneGoal& goal,
                      double seconds, const Watcher& watcher = {});

/// Returns candidates for an encoder with so many blocks and image tokens (of a window, if there are
/// several). The likeliest are first, because time may be short. Each merges before at least one block.
std::vector<Method> tuneCandidates(int blocks, int tokens);

/// At most `most` of the added images, at equal distances. Images of a single colour are only counted.
class ImagePicker {
public:
    explicit ImagePicker(int most) : m_most(static_cast<size_t>(most)) {}

    void add(const cv::Mat& image);
    bool full() const { return m_kept.size() >= m_most; }
    /// Returns the images in such an order that the first few are spread evenly too, however many are used.
    std::vector<cv::Mat> images() const;
    int seen() const { return m_seen; }
    int blank() const { return m_blank; }

private:
    const size_t m_most;
    std::vector<cv::Mat> m_kept;
    int m_seen = 0, m_blank = 0, m_step = 1, m_useful = 0;
};

}  // namespace mpm::pipeline
