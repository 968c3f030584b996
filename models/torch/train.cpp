#include "models/torch/train.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <future>

#include <unistd.h>

#include "models/torch/checkpoint.hpp"
#include "models/torch/compute.hpp"
#include "models/torch/evaluate.hpp"
#include "models/torch/init.hpp"
#include "models/torch/optimise.hpp"

namespace F = torch::nn::functional;

namespace mpm::models {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

class Trainer {
public:
    Trainer(const TrainOptions& options, const TrainData& data);
    std::vector<CurveRow> run();

private:
    std::string path(const char* name) const {
        return (std::filesystem::path(m_options.out) / name).string();
    }
    double lossOf(const Batch& batch);
    double step();
    void validate(CurveRow& row);
    void save();
    void report(const CurveRow& row, bool always);

    TrainOptions m_options;
    const TrainData& m_data;
    BatchSource m_source;
    torch::Device m_device;
    Segmenter m_model, m_mean;
    std::unique_ptr<torch::optim::AdamW> m_optimiser;
    torch::Tensor m_classWeights;
    Progress m_progress;
    std::future<Batch> m_next;
    Clock::time_point m_start = Clock::now();
    double m_secondsBefore = 0;
    int64_t m_firstStep = 0;
};

std::vector<cv::Mat> picturesOf(const std::vector<pipeline::Sample>& samples) {
    std::vector<cv::Mat> pictures;
    for (const auto& sample : samples)
        pictures.push_back(sample.picture);
    return pictures;
}

Trainer::Trainer(const TrainOptions& options, const TrainData& data)
    : m_options(options),
      m_data(data),
      m_source(data.train, data.ignored, options.data),
      m_device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU),
      m_model((torch::manual_seed(options.data.seed), options.model)),
      m_mean(options.model) {
    if (options.threads > 0) torch::set_num_threads(options.threads);
    initialise(m_model);
    if (!data.train.empty()) initialisePatchFilters(m_model, picturesOf(data.train), options.data.seed);
    copyWeights(m_mean, m_model);
    m_model->to(m_device);
    m_mean->to(m_device);
    m_mean->eval();
    m_optimiser = makeOptimiser(m_model, options.rate, options.weightDecay);
    m_classWeights = classWeights(data.train, static_cast<int>(options.model.classes), options.classPower,
                                  options.classLimit)
                         .to(m_device);
    std::filesystem::create_directories(options.out);
    if (std::filesystem::exists(path("checkpoint.pt"))) {
        m_progress = loadCheckpoint(path("checkpoint.pt"), m_model, m_mean, *m_optimiser);
    }
    m_secondsBefore = m_progress.seconds;
    m_firstStep = m_progress.step;
}

double Trainer::lossOf(const Batch& batch) {
    const auto labels = batch.labels.to(m_device);
    const auto masks = m_model->masks(batch.pictures.to(m_device));
    const auto logits = enlarge(masks, labels.size(1), labels.size(2));
    const auto loss = F::cross_entropy(
        logits, labels, F::CrossEntropyFuncOptions().weight(m_classWeights).ignore_index(m_data.ignored));
    (loss / m_options.accumulate).backward();
    return loss.item<double>();
}

double Trainer::step() {
    const int64_t number = m_progress.step;
    // Stochastic depth draws from the global generator: tied to the step, a resumed run draws the same.
    torch::manual_seed(pipeline::mix(m_options.data.seed, static_cast<uint64_t>(number)));
    setRate(*m_optimiser, rateAt(number, m_options.steps, m_options.warmUp, m_options.rate));
    m_optimiser->zero_grad();
    double loss = 0;
    for (int part = 0; part < m_options.accumulate; ++part) {
        const int64_t batchNumber = number * m_options.accumulate + part;
        const Batch batch = m_next.valid() ? m_next.get() : m_source.at(batchNumber);
        m_next = std::async(std::launch::async, [this, batchNumber] { return m_source.at(batchNumber + 1); });
        loss += lossOf(batch) / m_options.accumulate;
        m_progress.images += batch.pictures.size(0);
    }
    torch::nn::utils::clip_grad_norm_(m_model->parameters(), 1.0);
    m_optimiser->step();
    updateMean(m_mean, m_model, number, m_options.meanDecay);
    ++m_progress.step;
    m_progress.seconds = m_secondsBefore + secondsSince(m_start);
    return loss;
}

void Trainer::validate(CurveRow& row) {
    row.miou = evaluate(m_mean, m_data.validation, m_data.ignored).confusion.miou();
    if (row.miou <= m_progress.best) return;
    m_progress.best = row.miou;
    saveModel(path("best.pt"), m_mean);
}

void Trainer::save() {
    saveCheckpoint(path("checkpoint.pt"), m_model, m_mean, *m_optimiser, m_progress);
}

void Trainer::report(const CurveRow& row, bool always) {
    if (m_options.quiet) return;
    const bool terminal = isatty(STDERR_FILENO) != 0;
    if (!terminal && !always && row.step % 25 != 0) return;
    const double perStep =
        secondsSince(m_start) / static_cast<double>(std::max<int64_t>(1, row.step - m_firstStep));
    const int left = static_cast<int>(perStep * static_cast<double>(m_options.steps - row.step));
    const double share = static_cast<double>(row.step) / static_cast<double>(m_options.steps);
    const std::string bar(static_cast<size_t>(20 * share), '#');
    std::fprintf(stderr, "%s[%-20s] %lld/%lld  loss %.4f  rate %.2e  %.2f s/step  %d:%02d:%02d left%s",
                 terminal ? "\r" : "", bar.c_str(), static_cast<long long>(row.step),
                 static_cast<long long>(m_options.steps), row.loss, row.rate, perStep, left / 3600,
                 left / 60 % 60, left % 60, terminal && !always ? "" : "\n");
    if (!std::isnan(row.miou)) std::fprintf(stderr, "val mIoU %.4f (best %.4f)\n", row.miou, m_progress.best);
}

std::vector<CurveRow> Trainer::run() {
    const auto fastest = m_options.mixed ? ComputeType::fastest(m_device) : torch::kFloat32;
    const ComputeType compute(fastest);
    Curve curve(path("curve.csv"), m_progress.step);
    m_model->train();
    while (m_progress.step < m_options.steps) {
        CurveRow row;
        row.rate = rateAt(m_progress.step, m_options.steps, m_options.warmUp, m_options.rate);
        row.loss = step();
        TORCH_CHECK(std::isfinite(row.loss), "the loss is not finite at step ", m_progress.step);
        row.step = m_progress.step;
        row.images = m_progress.images;
        row.seconds = m_progress.seconds;
        const bool last = row.step == m_options.steps;
        const bool validates =
            !m_data.validation.empty() && (last || row.step % m_options.validateEvery == 0);
        if (validates) validate(row);
        curve.add(row);
        report(row, validates || last);
        if (last || validates || row.step % m_options.checkpointEvery == 0) save();
        if (validates || last) curve.draw(path("curve.png"));
    }
    if (m_next.valid()) m_next.wait();
    return curve.rows();
}

}  // namespace

std::vector<CurveRow> train(const TrainOptions& options, const TrainData& data) {
    return Trainer(options, data).run();
}

}  // namespace mpm::models
