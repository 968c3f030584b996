// Training batches. Images are read once and augmented anew for each batch. A batch depends only on the seed
// and the step, so a resumed run gives the same result as an uninterrupted run.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <torch/types.h>
#include <opencv2/core.hpp>

#include "base/random.hpp"
#include "models/torch/model/segmenter.hpp"
#include "pipeline/dataset/dataset.hpp"
#include "street/street.hpp"

namespace mpm::models {

struct AugmentOptions {
    int height = 256, width = 320;                      ///< size of the crop
    double scaleLow = 0.6, scaleHigh = 1.8;             ///< limits of the scale, which is log-uniform
    int modelHeight = 0;                                ///< height of images at scale 1; 0: unchanged
    double night = 0.15;                                ///< share of images with the night simulation
    std::optional<street::NightParameters> fixedNight;  ///< absent: random values near the defaults
    bool geometry = true;                               ///< random flips and changes of the aspect ratio
    double colour = 0.35;  ///< strength of brightness, contrast, gamma, saturation and tint changes
};

struct Batch {
    torch::Tensor images;  ///< f32 [B, 3, H, W]
    torch::Tensor labels;  ///< int64 [B, H/stride, W/stride]
};

/// Frames of the built-in street, rendered on first use. Thread-safe.
class ScenePool {
public:
    ScenePool(cv::Size size, int streets, uint64_t seed) : m_size(size), m_seed(seed), m_streets(streets) {}

    pipeline::Sample draw(Random& random) const;

private:
    static constexpr int kFramesAStreet = 4;
    struct Entry {
        std::once_flag made;
        std::vector<pipeline::Sample> frames;
    };
    void make(size_t street, Entry& entry) const;

    cv::Size m_size;
    uint64_t m_seed;
    mutable std::vector<Entry> m_streets;
};

/// Returns the index of the sample for image `number` of a run. Each pass over the samples has a new order.
size_t shuffledIndex(int64_t number, size_t count, uint64_t seed);

class BatchSource {
public:
    struct Options {
        AugmentOptions augment;
        int batch = 6;
        int labelStride = 4;  ///< the loss uses one pixel of each square of stride x stride
        double scene = 0.0;   ///< share of images from the built-in street
        cv::Size sceneSize{480, 360};
        int streets = 250;  ///< number of different streets
        Normalisation normalisation;
        uint64_t seed = 1;
    };

    BatchSource(std::vector<pipeline::Sample> samples, int ignored, Options options);

    Batch at(int64_t step) const;
    const std::vector<pipeline::Sample>& samples() const { return m_samples; }

private:
    pipeline::Sample draw(int64_t number, Random& random) const;

    std::vector<pipeline::Sample> m_samples;
    ScenePool m_scenes;
    int m_ignored;
    Options m_options;
};

/// Returns the loss weight of each class: (mean frequency / frequency)^power, limited to `limit`, then scaled
/// to mean 1 over all pixels.
torch::Tensor classWeights(const std::vector<pipeline::Sample>& samples, int classes, double power,
                           double limit);

/// Returns a crop of the requested size at a random scale and place, with random flips, colour changes and
/// night simulation. Pixels outside the image are grey and have the label `ignored`. A sample may have no
/// labels.
/// @param crop receives the transform from the image's pixels to the crop
pipeline::Sample augment(const pipeline::Sample& sample, const AugmentOptions& options, int ignored,
                         Random& random, cv::Matx23d* crop = nullptr);

constexpr int64_t kNoPolicyLabel = 255;

/// Converts labels [B, H, W] to labels of superpatches (32x32 pixels), [B, H/32, W/32]: 1 if all pixels have
/// the same label or all are ignored, else 0. H and W must be multiples of 32. If `ignoredBorder` is true,
/// the data set does not label the border of images. Superpatches at the border that mix a single class with
/// ignored pixels then become kNoPolicyLabel.
torch::Tensor policyLabels(const torch::Tensor& labels, int64_t ignored, bool ignoredBorder = false);

}  // namespace mpm::models
