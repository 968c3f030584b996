#include "models/torch/data/boxes.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/printable.hpp"
#include "pipeline/dataset/coco_files.hpp"
#include "pipeline/dataset/dataset.hpp"

namespace mpm::models {
namespace {

constexpr int64_t kMostClasses = 10'000;
constexpr size_t kMostObjects = 10'000;              // per image
constexpr double kLeastShown = 0.3, kLeastSide = 2;  // a box with a smaller shown share or side is ignored

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

/// Converts a transform of pixel centres, as for cv::warpAffine, to a transform of the edges of boxes.
cv::Matx23d ofEdges(cv::Matx23d centres) {
    for (int k = 0; k < 2; ++k)
        centres(k, 2) += .5 - .5 * (centres(k, 0) + centres(k, 1));
    return centres;
}

struct Stretched {
    cv::Mat pixels;
    std::vector<BoxImage::Object> objects;
};

Stretched stretched(const BoxImage& image, cv::Size size) {
    const cv::Mat pixels = pipeline::imageAt(image.path, cv::IMREAD_COLOR);
    if (pixels.size() != image.size)
        CV_Error(cv::Error::StsUnmatchedSizes,
                 printable(image.path) + cv::format(" has %dx%d pixels, its annotations are for %dx%d",
                                                    pixels.cols, pixels.rows, image.size.width,
                                                    image.size.height));
    Stretched result;
    cv::resize(pixels, result.pixels, size, 0, 0, cv::INTER_LINEAR);
    const cv::Matx23d by(double(size.width) / pixels.cols, 0, 0, 0, double(size.height) / pixels.rows, 0);
    result.objects = moved(image.objects, by, size);
    return result;
}

std::vector<std::string> namesOf(const pipeline::CocoTruth& truth, const std::string& file) {
    std::vector<std::string> names;
    for (const auto& [id, name] : truth.categories) {
        if (id < 0 || id >= kMostClasses)
            CV_Error(cv::Error::StsOutOfRange, printable(file) + ": category " + std::to_string(id) +
                                                   " is outside 0 to " + std::to_string(kMostClasses - 1));
        names.resize(std::max(names.size(), static_cast<size_t>(id) + 1));
        names[static_cast<size_t>(id)] = name;
    }
    if (names.empty()) CV_Error(cv::Error::StsBadArg, printable(file) + ": lists no category");
    return names;
}

}  // namespace

std::vector<std::string> readBoxClasses(const std::string& root) {
    const std::string train = root + "/train/annotations.json";
    const std::string file = std::filesystem::exists(train) ? train : root + "/val/annotations.json";
    return namesOf(pipeline::readCocoTruth(file, false), file);
}

BoxImages readBoxImages(const std::string& root, const std::string& split) {
    const std::string folder = root + '/' + split, file = folder + "/annotations.json";
    const pipeline::CocoTruth truth = pipeline::readCocoTruth(file, false);
    BoxImages all;
    all.names = namesOf(truth, file);
    std::map<int64_t, size_t> place;
    for (const auto& [id, image] : truth.images) {
        place[id] = all.images.size();
        const std::string path = image.pathBelow(folder + "/images");
        if (!std::filesystem::is_regular_file(path))
            CV_Error(cv::Error::StsBadArg, printable(file) + ": there is no " + printable(path));
        all.images.push_back({path, image.size, {}});
    }
    if (all.images.empty()) CV_Error(cv::Error::StsBadArg, printable(file) + ": lists no image");
    for (const auto& object : truth.objects) {
        const auto found = place.find(object.image);
        if (found == place.end() || truth.categories.count(object.category) == 0) continue;
        auto& objects = all.images[found->second].objects;
        if (objects.size() == kMostObjects)
            CV_Error(cv::Error::StsOutOfRange, printable(file) + ": more than " +
                                                   std::to_string(kMostObjects) + " objects in an image");
        objects.push_back({object.box, static_cast<int>(object.category), object.crowd});
    }
    return all;
}

BoxBatch boxBatch(const std::vector<BoxImage>& images, const BatchSource::Options& options, int64_t step) {
    BoxBatch batch;
    std::vector<torch::Tensor> tensors;
    const cv::Size size(options.augment.width, options.augment.height);
    for (int i = 0; i < options.batch; ++i) {
        const int64_t number = step * options.batch + i;
        Random random(mixSeed(options.seed ^ 0xB0C5, static_cast<uint64_t>(number)));
        const auto from = stretched(images[shuffledIndex(number, images.size(), options.seed)], size);
        cv::Matx23d crop;
        const auto sample = augment({from.pixels, {}, {}}, options.augment, 0, random, &crop);
        tensors.push_back(toTensor(sample.image, options.normalisation));
        batch.objects.push_back(moved(from.objects, ofEdges(crop), size));
    }
    batch.images = torch::stack(tensors);
    return batch;
}

BoxBatch wholeImage(const BoxImage& image, cv::Size size, const Normalisation& normalisation) {
    const auto whole = stretched(image, size);
    return {toTensor(whole.pixels, normalisation).unsqueeze(0), {whole.objects}};
}

}  // namespace mpm::models
