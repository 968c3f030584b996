#include <map>

#include <mpm/read_net.hpp>
#include <mpm/sharing.hpp>
#include <opencv2/dnn.hpp>

#include "base/pending_file.hpp"
#include "models/onnx/convert.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/torch/export/onnx.hpp"

namespace mpm::models {
namespace {

constexpr double kTolerance = 1e-4;

cv::Mat blobOf(const torch::Tensor& tensor) {
    std::vector<int> shape;
    for (int64_t dim : tensor.sizes())
        shape.push_back(static_cast<int>(dim));
    return cv::Mat(shape, CV_32F, tensor.data_ptr()).clone();
}

torch::Tensor randomImages(const VitOptions& vit, uint64_t seed, int64_t batch = 1) {
    torch::manual_seed(seed);
    return torch::rand({batch, 3, vit.height, vit.width}) * 2 - 1;
}

std::map<std::string, torch::Tensor> outputsOf(Segmenter& model, const torch::Tensor& image) {
    if (!model->options().detects()) return {{"logits", model->forward(image)}};
    const auto found = model->boxes(image);
    return {{"boxes", found.boxes}, {"scores", found.scores}};
}

double difference(Segmenter& model, cv::dnn::Net& net, const torch::Tensor& image) {
    double largest = 0;
    std::vector<cv::Mat> outputs;
    const std::vector<cv::String> names = net.getUnconnectedOutLayersNames();
    const auto expected = outputsOf(model, image);
    net.setInput(blobOf(image));
    net.forward(outputs, names);
    TORCH_CHECK(names.size() == expected.size(), "the file gives ", names.size(), " outputs");
    for (size_t k = 0; k < names.size(); ++k) {
        const auto found = expected.find(names[k]);
        TORCH_CHECK(found != expected.end(), "the file gives the output ", names[k]);
        const auto wanted = found->second.contiguous();
        TORCH_CHECK(wanted.isfinite().all().item<bool>(), "the model's ", names[k], " are not finite");
        TORCH_CHECK(outputs[k].total() == static_cast<size_t>(wanted.numel()), "the file gives ", names[k],
                    " of another size");
        TORCH_CHECK(cv::checkRange(outputs[k]), "the file gives ", names[k], " that are not finite");
        // joinNeighbours() enlarges the rounding errors of scores by up to this factor, which is no fault of
        // the file.
        const double enlarged = model->options().detects() && names[k] == "scores" ? 1 + 2 * kPeak : 1;
        largest = std::max(largest, cv::norm(outputs[k], blobOf(wanted), cv::NORM_INF) / enlarged);
    }
    return largest;
}

void demandClose(double difference, const std::string& what) {
    TORCH_CHECK(difference <= kTolerance, what, " would differ from LibTorch by ", difference, ", more than ",
                kTolerance, ": not written");
}

/// Returns the largest difference between the outputs of LibTorch and of the file. Sets the same schedule in
/// LibTorch's model and in the file's network: first none, then `blocks`. Throws if a difference exceeds
/// kTolerance.
double fusedDifference(Segmenter& model, const std::vector<int>& blocks, const std::string& draft,
                       const std::string& name) {
    torch::NoGradGuard noGrad;
    cv::dnn::Net net = readNet(draft);
    Encoder encoder = mpm::encoder(net);
    const auto image = randomImages(model->options().vit, 1);
    double largest = 0;
    for (const auto& schedule : {std::vector<int>{}, blocks}) {
        model->encoder->setReducer({"mpm", {schedule.begin(), schedule.end()}});
        encoder.setSchedule(schedule);
        const double error = difference(model, net, image);
        demandClose(error, name + " with " + std::to_string(schedule.size()) + " merges");
        largest = std::max(largest, error);
    }
    model->encoder->setReducer({});
    return largest;
}

/// Finds superpatches that only LibTorch or only the file chose, because scores differ in rounding. Returns
/// the largest distance of such a superpatch's score from the lowest score that LibTorch chose.
double choiceDifference(const torch::Tensor& scores, const cv::Mat& map, int64_t shared, cv::Size grid) {
    const auto known = scores.flatten();
    if (shared == 0 || shared == known.numel()) return 0;
    const auto last = std::get<0>(known.sort(/*dim=*/0, /*descending=*/true))[shared - 1].item<float>();
    double largest = 0;
    for (int64_t k = 0; k < known.numel(); ++k) {
        const int patch =
            static_cast<int>(k) / grid.width * 4 * grid.width + static_cast<int>(k) % grid.width * 2;
        const bool shares = map.at<int>(patch) == map.at<int>(patch + 1);
        const double score = known[k].item<float>();
        if (shares != (score >= last)) largest = std::max(largest, std::abs(score - last));
    }
    return largest;
}

bool equalMaps(const torch::Tensor& maps, const Report& report) {
    const auto rows = maps.to(torch::kInt32).contiguous();
    for (int64_t b = 0; b < rows.size(0); ++b) {
        const cv::Mat wanted(1, static_cast<int>(rows.size(1)), CV_32S, rows[b].data_ptr());
        if (cv::norm(report.images.at(static_cast<size_t>(b)).map, wanted, cv::NORM_INF) != 0) return false;
    }
    return true;
}

/// Compares the superpatches that the file's policy chooses with those of LibTorch. Then sets LibTorch's
/// scores in the file's network, and compares outputs and maps. Returns the largest difference.
double sharingDifference(Segmenter& model, const std::shared_ptr<Sharing>& sharing, const std::string& draft,
                         const std::string& name, int64_t batch) {
    torch::NoGradGuard noGrad;
    cv::dnn::Net net = readNet(draft);
    Encoder encoder = mpm::encoder(net);
    auto control = mpm::sharing(net);
    const auto images = randomImages(model->options().vit, 1, batch);
    const auto logits = sharing->policy(images);
    const auto scores = (logits.select(1, 1) - logits.select(1, 0)).contiguous();
    net.setInput(blobOf(images));
    net.forward();
    const Report own = encoder.report();
    std::vector<cv::Mat> given;
    double largest = 0;
    for (int64_t b = 0; b < batch; ++b) {
        given.emplace_back(control->grid(), CV_32F, scores[b].data_ptr());
        largest = std::max(largest, choiceDifference(scores[b], own.images.at(static_cast<size_t>(b)).map,
                                                     sharing->shared, control->grid()));
    }
    demandClose(largest, name + "'s policy");
    control->setScores(given);
    const auto all = static_cast<int64_t>(control->grid().area());
    for (const int64_t shared : {int64_t{0}, sharing->shared, all}) {
        model->setSharing(std::make_shared<Sharing>(Sharing{sharing->policy, shared}));
        control->setShared(static_cast<int>(shared));
        const double error = difference(model, net, images);
        const std::string what = name + " with " + std::to_string(shared) + " shared superpatches";
        demandClose(error, what);
        TORCH_CHECK(shared == 0 || equalMaps(model->sharedMap(), encoder.report()), what,
                    " would share other patches than LibTorch: not written");
        largest = std::max(largest, error);
    }
    model->setSharing(nullptr);
    return largest;
}

}  // namespace

double exportDifference(Segmenter& model, const std::string& path, uint64_t seed) {
    torch::NoGradGuard noGrad;
    model->eval();
    cv::dnn::Net net = readNet(path);
    return difference(model, net, randomImages(model->options().vit, seed));
}

double exportStandard(Segmenter& model, const pipeline::Classes& classes, const std::string& path) {
    PendingFile draft(path, Access::Umask);
    exportOnnx(model, classes, draft.path());
    const double error = exportDifference(model, draft.path(), 1);
    demandClose(error, path);
    draft.keep();
    return error;
}

double exportFused(Segmenter& model, const pipeline::Classes& classes, const std::vector<int>& blocks,
                   const std::string& path) {
    model->eval();
    const PendingFile plain(path, Access::Umask);  // temporary, because keep() is not called
    PendingFile fused(path, Access::Umask);
    exportOnnx(model, classes, plain.path(), Norms::Written);
    ConvertOptions options;
    options.blocks = blocks;
    convertModel(plain.path(), fused.path(), options);
    const double error = fusedDifference(model, blocks, fused.path(), path);
    fused.keep();
    return error;
}

double exportSharing(Segmenter& model, const std::shared_ptr<Sharing>& sharing,
                     const pipeline::Classes& classes, const std::string& path, int batch) {
    TORCH_CHECK(!model->options().detects(),
                "a detector's patches share no tokens: export it without --policy");
    const auto& vit = model->options().vit;
    model->eval();
    model->setSharing(sharing);  // checks that sizes and normalisation allow sharing
    model->setSharing(nullptr);
    sharing->countOn(1, vit.patches() / 4);
    const PendingFile plain(path, Access::Umask), fused(path, Access::Umask);  // temporary
    PendingFile shared(path, Access::Umask);
    exportOnnx(model, classes, plain.path(), Norms::Written);
    ConvertOptions options;
    options.batch = batch;
    options.blocks = List<int>();
    convertModel(plain.path(), fused.path(), options);
    {
        const Job job({});
        Graph graph = readOwnModel(fused.path());
        addSharing(graph, *sharing, vit.gridHeight(), vit.gridWidth());
        writeModel(graph, shared.path(), path);
    }
    const double error = sharingDifference(model, sharing, shared.path(), path, batch);
    shared.keep();
    return error;
}

}  // namespace mpm::models
