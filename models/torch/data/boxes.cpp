#include "models/torch/data/boxes.hpp"

#include <algorithm>
#include <map>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/printable.hpp"
#include "pipeline/dataset/coco_files.hpp"
#include "pipeline/dataset/dataset.hpp"

namespace mpm::models {
namespace {

constexpr int64_t kMostClasses = 10'000;
constexpr double kLeastShown = 0.3, kLeastSide = 2;  // of a box; pixels

BoxImage::Object moved(const BoxImage::Object& object, const cv::Matx23d& by, cv::Size size) {
    const auto corner = [&](double x, double y) {
        const cv::Vec2d at = by * cv::Vec3d(x, y, 1);
        return cv::Point2d(at[0], at[1]);
    };
    const cv::Rect2d whole(corner(object.box.x, object.box.y),
                           corner(object.box.x + object.box.width, object.box.y + object.box.height));
    const cv::Rect2d shown = whole & cv::Rect2d(0, 0, size.width, size.height);
    const bool ignored = object.ignored || shown.area() < kLeastShown * whole.area() ||
                         std::min(shown.width, shown.height) < kLeastSide;
    return {shown, object.label, ignored};
}

std::vector<BoxImage::Object> moved(const std::vector<BoxImage::Object>& objects, const cv::Matx23d& by,
                                    cv::Size size) {
    std::vector<BoxImage::Object> all;
    for (const auto& object : objects)
        if (const auto there = moved(object, by, size); !there.box.empty()) all.push_back(there);
    return all;
}

}  // namespace

BoxImages readBoxImages(const std::string& root, const std::string& split) {
    const std::string folder = root + '/' + split, file = folder + "/annotations.json";
    const pipeline::CocoTruth truth = pipeline::readCocoTruth(file, false);
    BoxImages all;
    for (const auto& [id, name] : truth.categories) {
        if (id < 0 || id >= kMostClasses)
            CV_Error(cv::Error::StsOutOfRange, printable(file) + ": category " + std::to_string(id) +
                                                   " is outside 0 to " + std::to_string(kMostClasses - 1));
        all.names.resize(std::max(all.names.size(), static_cast<size_t>(id) + 1));
        all.names[static_cast<size_t>(id)] = name;
    }
    std::map<int64_t, size_t> place;
    for (const auto& [id, image] : truth.images) {
        place[id] = all.images.size();
        all.images.push_back({folder + "/images/" + image.file, {}});
    }
    if (all.images.empty()) CV_Error(cv::Error::StsBadArg, printable(file) + ": lists no image");
    for (const auto& object : truth.objects)
        if (const auto found = place.find(object.image);
            found != place.end() && truth.categories.count(object.category))
            all.images[found->second].objects.push_back(
                {object.box, static_cast<int>(object.category), object.crowd});
    return all;
}

BoxBatch boxBatch(const std::vector<BoxImage>& images, const BatchSource::Options& options, int64_t step) {
    BoxBatch batch;
    std::vector<torch::Tensor> tensors;
    const cv::Size size(options.augment.width, options.augment.height);
    for (int i = 0; i < options.batch; ++i) {
        const int64_t number = step * options.batch + i;
        Random random(mixSeed(options.seed ^ 0xB0C5, static_cast<uint64_t>(number)));
        const BoxImage& from = images[shuffledIndex(number, images.size(), options.seed)];
        cv::Matx23d crop;
        const auto sample = augment({pipeline::imageAt(from.path, cv::IMREAD_COLOR), {}, {}}, options.augment,
                                    0, random, &crop);
        tensors.push_back(toTensor(sample.image, options.normalisation));
        batch.objects.push_back(moved(from.objects, crop, size));
    }
    batch.images = torch::stack(tensors);
    return batch;
}

BoxBatch wholeImage(const BoxImage& image, cv::Size size, const Normalisation& normalisation) {
    const cv::Mat pixels = pipeline::imageAt(image.path, cv::IMREAD_COLOR);
    cv::Mat stretched;
    cv::resize(pixels, stretched, size, 0, 0, cv::INTER_LINEAR);
    const cv::Matx23d by(double(size.width) / pixels.cols, 0, 0, 0, double(size.height) / pixels.rows, 0);
    return {toTensor(stretched, normalisation).unsqueeze(0), {moved(image.objects, by, size)}};
}

}  // namespace mpm::models
