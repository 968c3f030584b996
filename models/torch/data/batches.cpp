#include "models/torch/data/batches.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/torch/model/policy.hpp"
#include "models/torch/model/segmenter.hpp"
#include "street/street.hpp"

namespace mpm::models {

static torch::Tensor labelsToTensor(const cv::Mat& labels, int stride, int phaseY, int phaseX) {
    const int height = labels.rows / stride, width = labels.cols / stride;
    auto tensor = torch::empty({height, width}, torch::kInt64);
    auto* out = tensor.data_ptr<int64_t>();
    for (int y = 0; y < height; ++y) {
        const uchar* row = labels.ptr<uchar>(y * stride + phaseY) + phaseX;
        for (int x = 0; x < width; ++x)
            *out++ = row[x * stride];
    }
    return tensor;
}

/// Returns a random hour: by day with a probability of two thirds, else between dusk and dawn.
static double anyHour(Random& random) {
    return random.chance(0.66) ? random.uniform(6.5, 18.5) : std::fmod(random.uniform(18.5, 30.5), 24);
}

void ScenePool::make(size_t street, Entry& entry) const {
    const uint64_t seed = mixSeed(m_seed ^ 0x5CE7E, street);
    Random random(seed);
    street::Street scene(m_size, seed);
    for (int i = 0; i < kFramesAStreet; ++i) {
        const double hour = anyHour(random);
        auto frame = scene.at(hour, random.uniform(0, 600));
        entry.frames.push_back({frame.image, frame.labels, "scene"});
    }
}

pipeline::Sample ScenePool::draw(Random& random) const {
    const auto street = static_cast<size_t>(random.below(static_cast<int>(m_streets.size())));
    Entry& entry = m_streets[street];
    std::call_once(entry.made, [&] { make(street, entry); });
    return entry.frames[static_cast<size_t>(random.below(kFramesAStreet))];
}

BatchSource::BatchSource(std::vector<pipeline::Sample> samples, int ignored, Options options)
    : m_samples(std::move(samples)),
      m_scenes(options.sceneSize, options.streets, options.seed),
      m_ignored(ignored),
      m_options(options) {
    TORCH_CHECK(!m_samples.empty() || options.scene >= 1, "no image to train on");
}

size_t shuffledIndex(int64_t number, size_t count, uint64_t seed) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    Random random(mixSeed(seed, static_cast<uint64_t>(number) / count));
    for (size_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[random.below(static_cast<int>(i))]);
    return order[static_cast<size_t>(number) % count];
}

pipeline::Sample BatchSource::draw(int64_t number, Random& random) const {
    if (m_samples.empty() || random.chance(m_options.scene)) return m_scenes.draw(random);
    return m_samples[shuffledIndex(number, m_samples.size(), m_options.seed)];
}

Batch BatchSource::at(int64_t step) const {
    const auto& augmenting = m_options.augment;
    const int stride = m_options.labelStride;
    std::vector<torch::Tensor> images, labels;
    for (int i = 0; i < m_options.batch; ++i) {
        const int64_t number = step * m_options.batch + i;
        Random random(mixSeed(m_options.seed ^ 0xA5A5, static_cast<uint64_t>(number)));
        const auto sample = augment(draw(number, random), augmenting, m_ignored, random);
        images.push_back(toTensor(sample.image, m_options.normalisation));
        labels.push_back(labelsToTensor(sample.labels, stride, random.below(stride), random.below(stride)));
    }
    return {torch::stack(images), torch::stack(labels)};
}

torch::Tensor classWeights(const std::vector<pipeline::Sample>& samples, int classes, double power,
                           double limit) {
    std::vector<double> count(classes, 1.0);
    for (const auto& sample : samples) {
        for (int y = 0; y < sample.labels.rows; ++y) {
            for (int x = 0; x < sample.labels.cols; ++x) {
                const int id = sample.labels.at<uchar>(y, x);
                if (id < classes) ++count[id];
            }
        }
    }
    const double total = std::accumulate(count.begin(), count.end(), 0.0);
    auto weights = torch::empty({classes});
    double mean = 0;
    for (int id = 0; id < classes; ++id) {
        const double weight = std::min(limit, std::pow(total / classes / count[id], power));
        weights[id] = weight;
        mean += weight * count[id] / total;
    }
    return weights / mean;
}

torch::Tensor policyLabels(const torch::Tensor& labels, int64_t ignored, bool ignoredBorder) {
    TORCH_CHECK(labels.dim() == 3 && labels.size(1) % kSuperpatch == 0 && labels.size(2) % kSuperpatch == 0,
                "policyLabels: labels must be [B, H, W] with H and W multiples of ", kSuperpatch);
    const int64_t rows = labels.size(1) / kSuperpatch, columns = labels.size(2) / kSuperpatch;
    const auto pixels = labels.reshape({-1, rows, kSuperpatch, columns, kSuperpatch})
                            .permute({0, 1, 3, 2, 4})
                            .reshape({-1, rows, columns, kSuperpatch * kSuperpatch});
    auto one = (pixels.amax(-1) == pixels.amin(-1)).to(torch::kInt64);
    if (!ignoredBorder) return one;
    const auto unknown = pixels == ignored;
    constexpr auto kMost = std::numeric_limits<int64_t>::max();
    const auto highest = pixels.masked_fill(unknown, -kMost).amax(-1),
               lowest = pixels.masked_fill(unknown, kMost).amin(-1);
    auto open = unknown.any(-1) & (highest == lowest);  // false if all are ignored: then lowest > highest
    if (rows > 2 && columns > 2) open.slice(1, 1, rows - 1).slice(2, 1, columns - 1).fill_(false);
    return one.masked_fill(open, kNoPolicyLabel);
}

}  // namespace mpm::models
