#include "models/torch/train/boxes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline/metric/coco.hpp"
#include "pipeline/metric/tracks.hpp"

namespace mpm::models {
namespace {

constexpr double kScore = 2, kDistance = 5, kOverlap = 2;
constexpr double kFocus = 2, kRare = 0.25;  // of the focal loss
constexpr double kPlace = 1;                // the cost of a patch between the object's centre and the patch
constexpr double kNever = 1e4;              // the cost of a patch outside of the object
constexpr float kLeastScore = 0.01f;

/// Corners of centre, width and height.
torch::Tensor corners(const torch::Tensor& boxes) {
    const auto centre = boxes.slice(-1, 0, 2), half = boxes.slice(-1, 2) / 2;
    return torch::cat({centre - half, centre + half}, -1);
}

torch::Tensor areas(const torch::Tensor& corners) {
    return (corners.slice(-1, 2) - corners.slice(-1, 0, 2)).clamp_min(0).prod(-1);
}

/// Generalised overlap of boxes given by corners, -1 to 1; leading axes are broadcast.
torch::Tensor overlaps(const torch::Tensor& a, const torch::Tensor& b) {
    const auto low = [](const torch::Tensor& x) { return x.slice(-1, 0, 2); };
    const auto high = [](const torch::Tensor& x) { return x.slice(-1, 2); };
    const auto both =
        areas(torch::cat({torch::maximum(low(a), low(b)), torch::minimum(high(a), high(b))}, -1));
    const auto either = areas(a) + areas(b) - both;
    const auto hull =
        areas(torch::cat({torch::minimum(low(a), low(b)), torch::maximum(high(a), high(b))}, -1));
    return both / either.clamp_min(1e-9) - (hull - either) / hull.clamp_min(1e-9);
}

torch::Tensor focal(const torch::Tensor& logits, const torch::Tensor& truth) {
    const auto right = torch::sigmoid(logits), wrong = 1 - right;
    const auto hit = kRare * wrong.pow(kFocus) * torch::log_sigmoid(logits);
    const auto miss = (1 - kRare) * right.pow(kFocus) * torch::log_sigmoid(-logits);
    return -(truth * hit + (1 - truth) * miss);
}

/// The objects of an image as tensors.
struct Truth {
    torch::Tensor boxes;   ///< [objects, 4] as shares of the image
    torch::Tensor labels;  ///< int64 [objects]

    Truth(const std::vector<BoxImage::Object>& objects, cv::Size size, bool ignored) {
        std::vector<float> values;
        std::vector<int64_t> ids;
        for (const auto& one : objects) {
            if (one.ignored != ignored) continue;
            const auto& b = one.box;
            for (const double value : {(b.x + b.width / 2) / size.width, (b.y + b.height / 2) / size.height,
                                       b.width / size.width, b.height / size.height})
                values.push_back(static_cast<float>(value));
            ids.push_back(one.label);
        }
        const auto count = static_cast<int64_t>(ids.size());
        boxes = torch::tensor(values, torch::kFloat32).reshape({count, 4});
        labels = torch::tensor(ids, torch::kInt64).reshape({count});
    }
    int64_t count() const { return labels.size(0); }
};

/// [objects, patches]: whether the centre of a patch is in the box, or less than a patch outside.
torch::Tensor patchesIn(const Truth& truth, int64_t rows, int64_t columns) {
    const auto grid = torch::tensor({double(columns), double(rows)}, torch::kFloat32);
    const auto centres = (patchCentres(rows, columns) / grid).unsqueeze(0);
    const auto box = corners(truth.boxes).unsqueeze(1);
    return ((centres > box.slice(2, 0, 2) - .5 / grid) & (centres < box.slice(2, 2) + .5 / grid)).all(2);
}

/// The patch of each object: int64 [objects].
torch::Tensor assign(const torch::Tensor& boxes, const torch::Tensor& logits, const Truth& truth,
                     const torch::Tensor& inside, cv::Size size) {
    const auto scores = logits.index_select(1, truth.labels).t();
    const auto grid = torch::tensor({double(size.width), double(size.height)}, torch::kFloat32);
    const auto centres = patchCentres(size.height, size.width);
    auto cost = kScore * (focal(scores, torch::ones_like(scores)) - focal(scores, torch::zeros_like(scores)));
    cost = cost + kDistance * torch::cdist(truth.boxes, boxes, 1.0);
    cost = cost - kOverlap * overlaps(corners(truth.boxes).unsqueeze(1), corners(boxes).unsqueeze(0));
    cost = cost + kPlace * torch::cdist(truth.boxes.slice(1, 0, 2) * grid, centres, 2.0);
    cost = cost.clamp(-kNever, kNever).masked_fill(inside.logical_not(), kNever).to(torch::kFloat64);
    cost = cost.contiguous();
    const cv::Mat_<double> table(static_cast<int>(cost.size(0)), static_cast<int>(cost.size(1)),
                                 cost.data_ptr<double>());
    auto patches = torch::zeros({truth.count()}, torch::kInt64);
    for (const auto& [object, patch] : pipeline::leastAssignment(table))
        patches[object] = patch;
    return patches;
}

cv::Size gridOf(const SegmenterImpl::Boxes& found, cv::Size size) {
    const double patch = std::sqrt(double(size.area()) / double(found.boxes.size(1)));
    return {cvRound(size.width / patch), cvRound(size.height / patch)};
}

std::vector<pipeline::CocoObject> bestOf(const SegmenterImpl::Boxes& found, cv::Size size, int64_t image) {
    const auto scores = torch::sigmoid(found.scores[0]).flatten().contiguous();
    const int64_t classes = found.scores.size(2);
    const auto best =
        std::get<1>(scores.topk(std::min<int64_t>(pipeline::CocoMatches::kMost, scores.numel())));
    std::vector<pipeline::CocoObject> all;
    for (int64_t k = 0; k < best.numel(); ++k) {
        const auto at = best[k].item<int64_t>();
        const float score = scores[at].item<float>();
        if (score < kLeastScore) break;
        const auto box = corners(found.boxes[0][at / classes]).contiguous();
        const float* corner = box.data_ptr<float>();
        pipeline::CocoObject object;
        object.image = image, object.category = at % classes, object.score = score;
        object.box = cv::Rect2d(cv::Point2d(corner[0] * size.width, corner[1] * size.height),
                                cv::Point2d(corner[2] * size.width, corner[3] * size.height));
        object.area = object.box.area();
        all.push_back(object);
    }
    return all;
}

}  // namespace

torch::Tensor boxLoss(const SegmenterImpl::Boxes& found,
                      const std::vector<std::vector<BoxImage::Object>>& objects, cv::Size size) {
    const cv::Size grid = gridOf(found, size);
    auto targets = torch::zeros_like(found.scores), weights = torch::ones_like(found.scores);
    auto distance = found.boxes.sum() * 0, overlap = distance;
    int64_t count = 0;
    for (size_t b = 0; b < objects.size(); ++b) {
        const auto image = static_cast<int64_t>(b);
        const Truth ignored(objects[b], size, true), truth(objects[b], size, false);
        for (int64_t k = 0; k < ignored.count(); ++k)
            weights[image].masked_fill_(patchesIn(ignored, grid.height, grid.width)[k].unsqueeze(1), 0);
        // More objects than patches: the first.
        const auto kept = std::min<int64_t>(truth.count(), found.boxes.size(1));
        if (kept == 0) continue;
        Truth some = truth;
        some.boxes = truth.boxes.slice(0, 0, kept), some.labels = truth.labels.slice(0, 0, kept);
        const auto inside = patchesIn(some, grid.height, grid.width);
        const auto patches =
            assign(found.boxes[image].detach().cpu(), found.scores[image].detach().cpu(), some, inside, grid);
        targets[image].index_put_({patches, some.labels}, torch::ones({kept}, targets.options()));
        weights[image].index_put_({patches, some.labels}, torch::ones({kept}, weights.options()));
        // All patches of an object learn its box: boxes are right after fewer images.
        const auto pairs = inside.logical_or(torch::one_hot(patches, inside.size(1)).to(torch::kBool));
        const auto shares = pairs.sum(1, true)
                                .to(found.boxes)
                                .reciprocal()
                                .expand_as(pairs)
                                .masked_select(pairs.to(found.boxes.device()));
        const auto at = pairs.nonzero().to(found.boxes.device());
        const auto boxes = found.boxes[image].index_select(0, at.select(1, 1));
        const auto wanted = some.boxes.to(boxes).index_select(0, at.select(1, 0));
        distance = distance + ((boxes - wanted).abs().sum(1) * shares).sum();
        overlap = overlap + ((1 - overlaps(corners(boxes), corners(wanted))) * shares).sum();
        count += kept;
    }
    const auto scores = (focal(found.scores, targets) * weights).sum();
    return (kScore * scores + kDistance * distance + kOverlap * overlap) /
           static_cast<double>(std::max<int64_t>(1, count));
}

double averagePrecision(Segmenter& model, const std::vector<BoxImage>& images) {
    const torch::NoGradGuard noGrad;
    const bool wasTraining = model->is_training();
    model->eval();
    const auto& vit = model->options().vit;
    const cv::Size size(static_cast<int>(vit.width), static_cast<int>(vit.height));
    std::vector<int64_t> ids(images.size()), classes(static_cast<size_t>(model->options().classes));
    std::iota(ids.begin(), ids.end(), 0), std::iota(classes.begin(), classes.end(), 0);
    std::vector<pipeline::CocoObject> truth, found;
    for (const int64_t id : ids) {
        const auto batch = wholeImage(images[static_cast<size_t>(id)], size, model->options().normalisation);
        const auto device = model->parameters().front().device();
        auto boxes = model->boxes(batch.images.to(device));
        boxes.boxes = boxes.boxes.cpu(), boxes.scores = boxes.scores.cpu();
        const auto best = bestOf(boxes, size, id);
        found.insert(found.end(), best.begin(), best.end());
        for (const auto& one : batch.objects[0]) {
            pipeline::CocoObject object;
            object.image = id, object.category = one.label, object.box = one.box;
            object.area = one.box.area(), object.crowd = one.ignored;
            truth.push_back(object);
        }
    }
    model->train(wasTraining);
    return pipeline::cocoScores(pipeline::cocoMatches(ids, classes, truth, found), classes).figures[0];
}

}  // namespace mpm::models
