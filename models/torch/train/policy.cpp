#include "models/torch/train/policy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <torch/nn/functional/loss.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <opencv2/imgproc.hpp>

#include "base/stopwatch.hpp"
#include "models/torch/data/batches.hpp"
#include "models/torch/model/segmenter.hpp"
#include "models/torch/train/optimiser.hpp"

namespace F = torch::nn::functional;

namespace mpm::models {
namespace {

torch::Tensor labelsOfStretched(const cv::Mat& labels, cv::Size size) {
    cv::Mat stretched;
    cv::resize(labels, stretched, size, 0, 0, cv::INTER_NEAREST);
    return torch::from_blob(stretched.data, {1, size.height, size.width}, torch::kUInt8).to(torch::kInt64);
}

torch::Tensor lossOf(PolicyNet& policy, const Batch& batch, int ignored, bool ignoredBorder) {
    const auto wanted = policyLabels(batch.labels, ignored, ignoredBorder);
    const auto logits = policy(batch.images);
    if (!(wanted != kNoPolicyLabel).any().item<bool>()) return logits.sum() * 0;  // the mean would be NaN
    return F::cross_entropy(logits, wanted, F::CrossEntropyFuncOptions().ignore_index(kNoPolicyLabel));
}

class PolicyTrainer {
public:
    PolicyTrainer(const PolicyTrainOptions& options, const std::vector<pipeline::Sample>& train,
                  const std::vector<pipeline::Sample>& validation, int ignored)
        : m_options(options),
          m_validation(validation),
          m_ignored(ignored),
          m_source(train, ignored, options.data),
          m_policy((torch::manual_seed(options.data.seed), PolicyNet(options.data.normalisation))),
          m_mean(options.data.normalisation) {
        if (!options.from.empty()) {
            m_policy = loadPolicy(options.from);
            m_mean = loadPolicy(options.from);
            TORCH_CHECK(m_policy->normalisation() == options.data.normalisation, options.from,
                        " was trained with another normalisation; name it with --normalisation");
        }
        m_mean->eval();
        for (const auto& weight : m_policy->parameters())
            (weight.dim() > 1 ? m_decaying : m_rest).push_back(weight);
    }

    PolicyScore run();

private:
    double way(int64_t step) const {
        if (m_options.minutes > 0) return m_watch.seconds() / (60 * m_options.minutes);
        return static_cast<double>(step) / static_cast<double>(m_options.mostSteps());
    }
    void validate(int64_t step, double loss);

    const PolicyTrainOptions& m_options;
    const std::vector<pipeline::Sample>& m_validation;
    int m_ignored;
    BatchSource m_source;
    PolicyNet m_policy, m_mean;
    std::vector<torch::Tensor> m_decaying, m_rest;
    PolicyScore m_best{0, 0, -1};
    Stopwatch m_watch;
};

void PolicyTrainer::validate(int64_t step, double loss) {
    const PolicyScore score = scorePolicy(m_mean, m_validation, m_ignored, m_options);
    if (!m_options.quiet)
        std::fprintf(stderr,
                     "step %lld  %.0f s  loss %.4f  accuracy %.4f  precision %.4f  recall %.4f at %lld\n",
                     static_cast<long long>(step), m_watch.seconds(), loss, score.accuracy, score.precision,
                     score.recall, static_cast<long long>(m_options.shared));
    if (score.recall < m_best.recall) return;
    m_best = score;
    savePolicy(m_options.out, m_mean);
}

PolicyScore PolicyTrainer::run() {
    using Options = torch::optim::AdamWOptions;
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(m_decaying, std::make_unique<Options>(Options().weight_decay(m_options.decay)));
    groups.emplace_back(m_rest, std::make_unique<Options>(Options().weight_decay(0)));
    torch::optim::AdamW adam(groups, Options(m_options.rate));
    double smooth = 0;
    const int64_t most = m_options.mostSteps();
    if (most == 0) validate(0, 0);
    for (int64_t step = 0; step < most && way(step) < 1;) {
        m_policy->train();
        adam.zero_grad();
        auto loss = lossOf(m_policy, m_source.at(step), m_ignored, m_options.ignoredBorder);
        loss.backward();
        torch::nn::utils::clip_grad_norm_(m_policy->parameters(), 1.0);
        for (auto& group : adam.param_groups())
            static_cast<Options&>(group.options())
                .lr(m_options.rate * rateShare(step, m_options.warmUp, way(step)));
        adam.step();
        updateMean(*m_mean, *m_policy, step, m_options.meanDecay);
        const double value = loss.item<double>();
        TORCH_CHECK(std::isfinite(value), "the loss is not finite at step ", step);
        smooth = step == 0 ? value : 0.98 * smooth + 0.02 * value;
        ++step;
        const bool last = step == most || way(step) >= 1;
        if (last || step % m_options.validateEvery == 0) validate(step, smooth);
    }
    return m_best;
}

}  // namespace

PolicyScore scorePolicy(PolicyNet& policy, const std::vector<pipeline::Sample>& samples, int ignored,
                        const PolicyTrainOptions& options) {
    const torch::NoGradGuard noGrad;
    policy->eval();
    const cv::Size size(options.width, options.height);
    double known = 0, right = 0, chosen = 0, found = 0, possible = 0;
    for (const auto& sample : samples) {
        cv::Mat image;
        cv::resize(sample.image, image, size, 0, 0, cv::INTER_LINEAR);
        const auto logits = policy(toTensor(image, policy->normalisation()).unsqueeze(0))[0].flatten(1);
        const auto labels =
            policyLabels(labelsOfStretched(sample.labels, size), ignored, options.ignoredBorder).flatten();
        const auto score = logits[1] - logits[0];
        const auto one = labels == 1;
        known += (labels != kNoPolicyLabel).sum().item<double>();
        right += ((one & (score > 0)) | ((labels == 0) & (score <= 0))).sum().item<double>();
        const int64_t count = std::min(options.shared, score.numel());
        found += one.index_select(0, std::get<1>(score.topk(count))).sum().item<double>();
        chosen += static_cast<double>(count);
        possible += std::min(static_cast<double>(count), one.sum().item<double>());
    }
    const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
    return {share(right, known), share(found, chosen), share(found, possible)};
}

PolicyScore trainPolicy(const PolicyTrainOptions& options, const std::vector<pipeline::Sample>& train,
                        const std::vector<pipeline::Sample>& validation, int ignored) {
    TORCH_CHECK(options.data.labelStride == 1, "a policy learns from every pixel: label stride 1");
    return PolicyTrainer(options, train, validation, ignored).run();
}

}  // namespace mpm::models
