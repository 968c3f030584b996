#include "models/torch/train/boxes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline/metric/coco.hpp"

namespace mpm::models {
namespace {

constexpr double kDistance = 5, kOverlap = 2;  // loss weights of a box; a score has weight 1
constexpr double kSpread = 0.12;               // spread of heatOf(), as a share of the object's size
constexpr double kLeastSpread = 0.3;           // lower limit of the spread, in patches
constexpr double kLeastHeat = 0.01;            // heatOf() below this limit becomes 0
constexpr float kLeastScore = 0.01f;

/// Converts centre, width and height to corners.
torch::Tensor corners(const torch::Tensor& boxes) {
    const auto centre = boxes.slice(-1, 0, 2), half = boxes.slice(-1, 2) / 2;
    return torch::cat({centre - half, centre + half}, -1);
}

torch::Tensor areas(const torch::Tensor& corners) {
    return (corners.slice(-1, 2) - corners.slice(-1, 0, 2)).clamp_min(0).prod(-1);
}

/// Returns the generalised overlap, -1 to 1, of boxes given by corners; leading axes are broadcast.
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

/// Returns the focal loss. `truth` is 1 at the centre of an object; elsewhere, the larger `truth` is, the
/// less a wrong score costs.
torch::Tensor focal(const torch::Tensor& logits, const torch::Tensor& truth) {
    const auto right = torch::sigmoid(logits);
    const auto hit = (1 - right).square() * torch::log_sigmoid(logits);
    const auto miss = (1 - truth).pow(4) * right.square() * torch::log_sigmoid(-logits);
    return -torch::where(truth == 1, hit, miss);
}

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

/// Returns a mask [objects, patches]: whether the patch's centre is in the object's box, or less than half a
/// patch outside.
torch::Tensor patchesIn(const Truth& truth, cv::Size size) {
    const auto grid = torch::tensor({double(size.width), double(size.height)}, torch::kFloat32);
    const auto centres = (patchCentres(size.height, size.width) / grid).unsqueeze(0);
    const auto box = corners(truth.boxes).unsqueeze(1);
    return ((centres > box.slice(2, 0, 2) - .5 / grid) & (centres < box.slice(2, 2) + .5 / grid)).all(2);
}

/// Returns a Gaussian for each object, [objects, patches]: 1 at the patch with the object's centre.
torch::Tensor heatOf(const Truth& truth, cv::Size grid) {
    const auto size = torch::tensor({double(grid.width), double(grid.height)}, torch::kFloat32);
    const auto home =
        torch::minimum((truth.boxes.slice(1, 0, 2) * size).floor().clamp_min(0), size - 1) + 0.5;
    const auto spread = (truth.boxes.slice(1, 2) * size * kSpread).clamp_min(kLeastSpread);
    const auto away = (patchCentres(grid.height, grid.width).unsqueeze(0) - home.unsqueeze(1));
    const auto heat = ((away / spread.unsqueeze(1)).square().sum(2) / -2).exp();
    return heat.masked_fill(heat < kLeastHeat, 0);
}

/// Returns the weight of each patch in the loss of each object's box. A patch has a weight only for the
/// object with the highest heatOf() at this patch.
torch::Tensor sharesOf(const torch::Tensor& heat) {
    const auto hottest = torch::one_hot(heat.argmax(0), heat.size(0)).t().to(heat);
    const auto won = heat * hottest;
    return won / won.sum(1, true).clamp_min(1e-9);
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
    for (size_t b = 0; b < objects.size(); ++b) {
        const auto image = static_cast<int64_t>(b);
        const Truth ignored(objects[b], size, true), truth(objects[b], size, false);
        if (ignored.count() > 0)
            weights[image].masked_fill_(patchesIn(ignored, grid).any(0).unsqueeze(1).to(weights.device()), 0);
        if (truth.count() == 0) continue;
        const auto heat = heatOf(truth, grid), shares = sharesOf(heat);
        for (int64_t k = 0; k < truth.count(); ++k) {
            auto target = targets[image].select(1, truth.labels[k].item<int64_t>());
            target.copy_(torch::maximum(target, heat[k].to(target)));
        }
        const auto pairs = shares.nonzero();
        const auto wanted = truth.boxes.index_select(0, pairs.select(1, 0)).to(found.boxes);
        const auto boxes = found.boxes[image].index_select(0, pairs.select(1, 1).to(found.boxes.device()));
        const auto share = shares.masked_select(shares > 0).to(found.boxes);
        distance = distance + ((boxes - wanted).abs().sum(1) * share).sum();
        overlap = overlap + ((1 - overlaps(corners(boxes), corners(wanted))) * share).sum();
    }
    weights.masked_fill_(targets == 1, 1);  // counts an object's centre even if it is in an ignored box
    const auto scores = (focal(found.scores, targets) * weights).sum();
    return (scores + kDistance * distance + kOverlap * overlap) / (targets == 1).sum().clamp_min(1);
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
    const double precision =
        pipeline::cocoScores(pipeline::cocoMatches(ids, classes, truth, found), classes).figures[0];
    return precision < 0 ? std::nan("") : precision;
}

}  // namespace mpm::models
