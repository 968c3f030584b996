#include "models/torch/train/train.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <future>
#include <optional>

#include <torch/cuda.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/utils/clip_grad.h>
#include <unistd.h>

#include "base/private_files.hpp"
#include "base/stopwatch.hpp"
#include "models/torch/model/compute.hpp"
#include "models/torch/model/policy.hpp"
#include "models/torch/model/segmenter.hpp"
#include "models/torch/train/boxes.hpp"
#include "models/torch/train/checkpoint.hpp"
#include "models/torch/train/evaluate.hpp"
#include "models/torch/train/optimiser.hpp"

namespace F = torch::nn::functional;

namespace mpm::models {
namespace {

class Trainer {
public:
    Trainer(const TrainOptions& options, const TrainData& data);
    std::vector<CurveRow> run();

private:
    std::string path(const char* name) const {
        return (std::filesystem::path(m_options.out) / name).string();
    }
    void checkNormalisation(const std::string& file, const Normalisation& trained) const;
    void loadTeacher();
    void loadPolicyOf();
    torch::Tensor neighboursOf(const TokenTaps& taps, const torch::Tensor& labels,
                               const torch::Tensor& masks) const;
    torch::Tensor lossOf(const Batch& batch);
    torch::Tensor boxLossAt(int64_t batchNumber);
    double runPart(int64_t number, int part);
    double runParts(int64_t number);
    double step();
    double way() const;
    bool isOver() const;
    double secondsPerStep() const;
    size_t validationSize() const { return m_data.validation.size() + m_data.validationBoxes.size(); }
    const char* measure() const { return m_source ? "mIoU" : "AP"; }
    double share() const { return rateShare(m_progress.step, m_options.warmUp, way()); }
    void validate(CurveRow& row);
    void save();
    void report(const CurveRow& row, bool always);

    TrainOptions m_options;
    const TrainData& m_data;
    std::optional<BatchSource> m_source;  // labelled images; absent for a detector
    torch::Device m_device;
    torch::ScalarType m_computeType;
    Segmenter m_model, m_mean;
    Segmenter m_teacher{nullptr};
    std::unique_ptr<Optimiser> m_optimiser;
    torch::Tensor m_classWeights;
    Progress m_progress;
    Stopwatch m_watch;
    TimePlan m_plan;
    double m_secondsBefore = 0;
    int64_t m_firstStep = 0;
};

std::vector<cv::Mat> imagesOf(const std::vector<pipeline::Sample>& samples) {
    std::vector<cv::Mat> images;
    for (const auto& sample : samples)
        images.push_back(sample.image);
    return images;
}

Trainer::Trainer(const TrainOptions& options, const TrainData& data)
    : m_options(options),
      m_data(data),
      m_device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU),
      m_computeType(options.mixed ? ComputeType::fastest(m_device) : torch::kFloat32),
      m_model((torch::manual_seed(options.data.seed), options.model)),
      m_mean(options.model),
      m_plan(60 * options.minutes) {
    m_options.data.normalisation = options.model.normalisation;
    if (!options.model.detects()) m_source.emplace(data.train, data.ignored, m_options.data);
    TORCH_CHECK(m_source || !data.boxes.empty(), "no image to train on");
    TORCH_CHECK(
        m_source || (options.teacher.empty() && options.policy.empty() && options.neighbourBlocks.empty()),
        "a detector is trained without --teacher, --policy and --neighbours");
    // Uses a single thread if tokens merge, because row counts then vary: matrix products of LibTorch 1.13
    // fail if two threads use new shapes at the same time.
    if (options.reducer.reduces()) m_options.workers = 1;
    initialise(m_model);
    if (!data.train.empty()) initialisePatchFilters(m_model, imagesOf(data.train), options.data.seed);
    if (!options.from.empty()) {
        Segmenter from = loadModel(options.from);
        checkNormalisation(options.from, from->options().normalisation);
        copyWeights(m_model, from);
    }
    copyWeights(m_mean, m_model);
    m_model->encoder->setReducer(options.reducer);
    m_model->to(m_device);
    m_mean->to(m_device);
    m_mean->eval();
    if (!options.teacher.empty()) loadTeacher();
    if (!options.policy.empty()) loadPolicyOf();
    for (const auto block : options.neighbourBlocks)
        TORCH_CHECK(block < options.model.vit.depth, "--neighbours ", block, ": the encoder has ",
                    options.model.vit.depth, " blocks, from 0");
    m_optimiser = std::make_unique<Optimiser>(m_model, options.optimiser);
    m_classWeights = classWeights(data.train, static_cast<int>(options.model.classes), options.classPower,
                                  options.classLimit)
                         .to(m_device);
    makeFolders(options.out, Access::Umask);
    if (std::filesystem::exists(path("checkpoint.pt"))) {
        m_progress = loadCheckpoint(path("checkpoint.pt"), m_model, m_mean, *m_optimiser);
    }
    m_secondsBefore = m_progress.seconds;
    m_firstStep = m_progress.step;
}

/// Throws if `trained`, the normalisation that the file was trained with, differs from the model's.
void Trainer::checkNormalisation(const std::string& file, const Normalisation& trained) const {
    TORCH_CHECK(trained == m_options.model.normalisation, file,
                " was trained with another normalisation than the model; name it with --normalisation");
}

void Trainer::loadTeacher() {
    m_teacher = loadModel(m_options.teacher);
    TORCH_CHECK(m_teacher->options().classes == m_options.model.classes, m_options.teacher, " knows ",
                m_teacher->options().classes, " classes, the data ", m_options.model.classes);
    checkNormalisation(m_options.teacher, m_teacher->options().normalisation);
    m_teacher->to(m_device);
    m_teacher->eval();
}

void Trainer::loadPolicyOf() {
    const auto sharing = std::make_shared<Sharing>(Sharing{loadPolicy(m_options.policy), m_options.shared});
    TORCH_CHECK(m_options.neighbourBlocks.empty() && !m_options.reducer.reduces(),
                "sharing is trained alone, without merging and without --neighbours");
    checkNormalisation(m_options.policy, sharing->policy->normalisation());
    const auto& augmented = m_options.data.augment;
    TORCH_CHECK(augmented.height % kSuperpatch == 0 && augmented.width % kSuperpatch == 0,
                "sharing needs crops of multiples of ", kSuperpatch);
    sharing->countOn(1, m_options.model.vit.patches() / 4);  // throws if `shared` is out of range
    sharing->policy->to(m_device);
    m_model->setSharing(sharing);
    m_mean->setSharing(sharing);
}

/// Returns the mean of neighbourLoss() over images and blocks. A merged row has the mean class shares of its
/// patches.
torch::Tensor Trainer::neighboursOf(const TokenTaps& taps, const torch::Tensor& labels,
                                    const torch::Tensor& masks) const {
    const auto shares = patchShares(labels, m_options.model.classes, masks.size(2), masks.size(3));
    std::vector<torch::Tensor> losses;
    for (const auto& tap : taps.taps) {
        const auto shown = shares[tap.image];
        losses.push_back(neighbourLoss(tap.tokens, tap.map.defined() ? clusterMeans(shown, tap.map) : shown));
    }
    return torch::stack(losses).mean();
}

torch::Tensor Trainer::lossOf(const Batch& batch) {
    const auto images = batch.images.to(m_device), labels = batch.labels.to(m_device);
    TokenTaps taps{m_options.neighbourBlocks, {}};
    const auto masks = m_model->masks(images, &taps);
    const auto logits = enlarge(masks, labels.size(1), labels.size(2));
    const auto options = F::CrossEntropyFuncOptions().weight(m_classWeights).ignore_index(m_data.ignored);
    // Without a labelled pixel, the cross entropy would be NaN.
    const bool labelled = (labels != m_data.ignored).any().item<bool>();
    auto loss = labelled ? F::cross_entropy(logits, labels, options) : logits.sum() * 0;
    if (m_options.overlap > 0) loss = loss + m_options.overlap * lovaszLoss(logits, labels, m_data.ignored);
    if (!taps.taps.empty()) loss = loss + m_options.neighbourShare * neighboursOf(taps, labels, masks);
    if (m_teacher) {
        const auto followed = [&] {
            const torch::NoGradGuard constant;
            return m_teacher->masks(images);
        }();
        loss = loss + m_options.teacherShare * teacherLoss(masks, followed);
    }
    return loss;
}

torch::Tensor Trainer::boxLossAt(int64_t batchNumber) {
    const auto batch = boxBatch(m_data.boxes, m_options.data, batchNumber);
    const cv::Size size(m_options.data.augment.width, m_options.data.augment.height);
    return boxLoss(m_model->boxes(batch.images.to(m_device)), batch.objects, size);
}

/// Runs the forward and backward pass of a part of a step on the calling thread; returns the part's loss.
double Trainer::runPart(int64_t number, int part) {
    if (m_options.workers > 1) torch::set_num_threads(1);  // parallel parts need no further threads
    const ComputeType compute(m_computeType);
    const int64_t batchNumber = number * m_options.parts + part;
    seedDropPath(mixSeed(m_options.data.seed, static_cast<uint64_t>(batchNumber)));
    const auto loss = m_source ? lossOf(m_source->at(batchNumber)) : boxLossAt(batchNumber);
    (loss / m_options.parts).backward();
    return loss.item<double>();
}

/// Runs the parts in rounds of `workers` threads. With three or more workers, two runs may differ slightly:
/// the last bits of a sum of three or more gradients depend on their order.
double Trainer::runParts(int64_t number) {
    double loss = 0;
    for (int first = 0; first < m_options.parts; first += m_options.workers) {
        std::vector<std::future<double>> others;
        for (int part = first + 1; part < std::min(first + m_options.workers, m_options.parts); ++part) {
            others.push_back(
                std::async(std::launch::async, [this, number, part] { return runPart(number, part); }));
        }
        loss += runPart(number, first);
        for (auto& other : others)
            loss += other.get();
    }
    return loss / m_options.parts;
}

double Trainer::way() const {
    if (m_plan.limited()) return m_plan.way(m_progress.seconds);
    const auto rising = std::min(m_options.warmUp, m_progress.step);
    return static_cast<double>(m_progress.step - rising) /
           std::max(1.0, static_cast<double>(m_options.mostSteps() - m_options.warmUp));
}

bool Trainer::isOver() const {
    return m_progress.step >= m_options.mostSteps() || (m_plan.limited() && way() >= 1);
}

double Trainer::step() {
    const int64_t number = m_progress.step;
    m_optimiser->zeroGrad();
    const double loss = runParts(number);
    m_progress.images += static_cast<int64_t>(m_options.parts) * m_options.data.batch;
    torch::nn::utils::clip_grad_norm_(m_model->parameters(), 1.0);
    m_optimiser->step(share());
    updateMean(*m_mean, *m_model, number, m_options.meanDecay);
    ++m_progress.step;
    m_progress.seconds = m_secondsBefore + m_watch.seconds();
    // Estimates the time of a validation from the time of a step. A validation needs only forwards, which
    // take about a third of the time of forward and backward.
    const double images = static_cast<double>(m_options.parts) * static_cast<double>(m_options.data.batch);
    m_plan.expectValidation(secondsPerStep() / images / 3 * static_cast<double>(validationSize()));
    return loss;
}

double Trainer::secondsPerStep() const {
    return m_watch.seconds() / static_cast<double>(std::max<int64_t>(1, m_progress.step - m_firstStep));
}

void Trainer::validate(CurveRow& row) {
    const Stopwatch watch;
    row.miou = m_source ? evaluate(
                              m_mean, m_data.validation.size(),
                              [this](size_t i) { return m_data.validation[i]; }, m_data.ignored)
                              .confusion.miou()
                        : averagePrecision(m_mean, m_data.validationBoxes);
    m_plan.validated(watch.seconds());
    if (!(row.miou > m_progress.best)) return;  // returns also for NaN (no labels)
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
    const int64_t most = m_options.mostSteps();
    const std::string of = most == kNoLimit ? "" : "/" + std::to_string(most);
    const double perStep = secondsPerStep(), bySteps = perStep * static_cast<double>(most - row.step),
                 now = m_secondsBefore + m_watch.seconds();
    const double left = m_plan.limited() ? std::min(bySteps, m_plan.left(now)) : bySteps;
    const std::string bar(static_cast<size_t>(20 * std::min(1.0, way())), '#');
    std::fprintf(stderr, "%s[%-20s] %lld%s  loss %.4f  rate %.2e  %.2f s/step  %s left%s",
                 terminal ? "\r" : "", bar.c_str(), static_cast<long long>(row.step), of.c_str(), row.loss,
                 row.rate, perStep, clockText(left).c_str(), terminal && !always ? "" : "\n");
    if (!std::isnan(row.miou))
        std::fprintf(stderr, "val %s %.4f (best %.4f)\n", measure(), row.miou, m_progress.best);
}

std::vector<CurveRow> Trainer::run() {
    const ComputeType compute(m_computeType);
    Curve curve(path("curve.csv"), m_progress.step);
    m_model->train();
    while (!isOver()) {
        CurveRow row;
        row.rate = m_options.optimiser.rate * share();
        row.loss = step();
        TORCH_CHECK(std::isfinite(row.loss), "the loss is not finite at step ", m_progress.step);
        row.step = m_progress.step;
        row.images = m_progress.images;
        row.seconds = m_progress.seconds;
        const bool last = isOver();
        const bool validates = validationSize() > 0 && (last || row.step % m_options.validateEvery == 0);
        if (validates) validate(row);
        curve.add(row);
        report(row, validates || last);
        if (row.step == m_options.stopAfter) break;
        if (last || validates || row.step % m_options.checkpointEvery == 0) save();
        if (validates || last) curve.draw(path("curve.png"), measure());
    }
    return curve.rows();
}

}  // namespace

std::vector<CurveRow> train(const TrainOptions& options, const TrainData& data) {
    return Trainer(options, data).run();
}

}  // namespace mpm::models
