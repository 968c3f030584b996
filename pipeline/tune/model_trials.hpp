// Runs a model with and without merging on images, for tuning.
#pragma once

#include <optional>
#include <vector>

#include <opencv2/core.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/tune/tune.hpp"

namespace mpm::pipeline {

/// Each kind of model has a separate measure; kAgreements describes it. Boxes are of a detector and match
/// with the same label, a map has one channel, as depth has.
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

/// Whether an output has one channel of the image's form, as depth has.
bool isMap(const Network& network, const cv::Mat& output);

/// Of one image, between 0 and 1 in general; a map or rows may be worse than 0.
double labelAgreement(const cv::Mat& full, const cv::Mat& other);
double mapAgreement(const cv::Mat& full, const cv::Mat& other);
/// Each box matches at most one of the other side, at an intersection over union of at least 0.75: mean of
/// the shares of both sides. One if neither has boxes.
double boxAgreement(const std::vector<Detection>& full, const std::vector<Detection>& other);

/// Rows of an image. `special` rows are in front and `image` rows behind them; more may follow.
struct TokenRows {
    cv::Mat rows;  ///< CV_32F
    int special = 0, image = 0;

    bool isImage(int row) const { return row >= special && row < special + image; }
};

/// Means of full runs: one of all image rows, and one of each other row.
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

/// Agreement with the full runs that were added first.
class Agreement {
public:
    /// The outputs of the next image with all tokens: those of a detector, else one. `size` is the image's.
    void add(const Network& network, const std::vector<cv::Mat>& outputs, cv::Size size);
    /// Of an image that was added, from 0.
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

/// What was tuned, and how.
struct ModelTuning {
    TuneResult result;
    AgreementKind kind = AgreementKind::Rows;
    size_t images = 0;
    Device device = Device::Cpu;
    Precision precision = Precision::F32;
};

/// Runs all images with all tokens once, then the candidates. The network keeps the last method. Throws
/// MeasureError (Input) if there are too few images or no block can merge, (Failed) if the time is over
/// before anything was compared.
ModelTuning tuneModel(Network& network, const std::vector<cv::Mat>& images, const TuneGoal& goal,
                      double seconds, const Watcher& watcher = {});

/// For an encoder with so many blocks and image tokens, of a window if it has several. The likeliest come
/// first, in case there is time for a few only. Each merges before at least one block.
std::vector<Method> tuneCandidates(int blocks, int tokens);

/// Keeps at most `most` of the images it is given, at equal distances. Images of one colour show nothing and
/// are counted only.
class ImagePicker {
public:
    explicit ImagePicker(int most) : m_most(static_cast<size_t>(most)) {}

    void add(const cv::Mat& image);
    bool full() const { return m_kept.size() >= m_most; }
    /// In an order in which any number of the first ones is spread as well.
    std::vector<cv::Mat> images() const;
    int seen() const { return m_seen; }
    int blank() const { return m_blank; }

private:
    const size_t m_most;
    std::vector<cv::Mat> m_kept;
    int m_seen = 0, m_blank = 0, m_step = 1, m_useful = 0;
};

}  // namespace mpm::pipeline
