// Runs a model with and without merging on images, for tuning.
#pragma once

#include <vector>

#include <opencv2/core.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/tune/agreement.hpp"
#include "pipeline/tune/tune.hpp"

namespace mpm::pipeline {

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

/// For an encoder with so many blocks and image tokens. The likeliest come first, in case there is time for a
/// few only. Each merges before at least one block.
std::vector<Method> tuneCandidates(int blocks, int tokens);

/// Keeps at most `most` of the images it is given, at equal distances. Images of one colour show nothing and
/// are counted only.
class ImagePicker {
public:
    explicit ImagePicker(int most) : m_most(static_cast<size_t>(most)) {}

    void add(const cv::Mat& image);
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
