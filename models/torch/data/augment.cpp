#include "models/torch/data/batches.hpp"

#include <cmath>

#include <opencv2/imgproc.hpp>

namespace mpm::models {
namespace {

/// Returns a random offset of a span of length `inner` in a span of length `outer`; negative if `inner` is
/// longer.
double place(double outer, double inner, Random& random) {
    return random.uniform() * (outer - inner);
}

cv::Matx23d randomCrop(cv::Size from, const AugmentOptions& options, Random& random) {
    const double whole = options.modelHeight ? static_cast<double>(options.modelHeight) / from.height : 1.0;
    const double scale =
        whole * options.scaleLow * std::pow(options.scaleHigh / options.scaleLow, random.uniform());
    const double aspect = options.geometry ? std::pow(1.2, random.uniform(-1, 1)) : 1.0;
    const double scaleX = scale * std::sqrt(aspect), scaleY = scale / std::sqrt(aspect);
    const bool flip = options.geometry && random.chance(0.5);
    const double left = place(from.width * scaleX, options.width, random);
    const double top = place(from.height * scaleY, options.height, random);
    if (flip) return {-scaleX, 0, from.width * scaleX - left, 0, scaleY, -top};
    return {scaleX, 0, -left, 0, scaleY, -top};
}

void changeColour(cv::Mat& image, double strength, Random& random) {
    cv::Mat values;
    image.convertTo(values, CV_32F, 1.0 / 255);
    const double contrast = 1 + strength * random.uniform(-1, 1);
    const double brightness = 0.5 * strength * random.uniform(-1, 1);
    const double saturation = 1 + 1.5 * strength * random.uniform(-1, 1);
    const double gamma = std::exp(strength * random.uniform(-1, 1));
    cv::Matx33d mixer;  // changes the saturation, then multiplies each channel by a tint
    for (int row = 0; row < 3; ++row) {
        const double tint = 1 + 0.3 * strength * random.uniform(-1, 1);
        const double grey[3] = {0.114, 0.587, 0.299};
        for (int col = 0; col < 3; ++col) {
            mixer(row, col) = tint * ((1 - saturation) * grey[col] + (row == col ? saturation : 0));
        }
    }
    cv::transform(values, values, mixer);
    values = cv::max((values - cv::Scalar::all(0.5)) * contrast + cv::Scalar::all(0.5 + brightness), 0.0);
    cv::pow(values, gamma, values);
    values.convertTo(image, CV_8U, 255);
}

street::NightParameters randomNight(Random& random) {
    street::NightParameters parameters;
    parameters.luminance = random.uniform(0.2, 0.6);
    parameters.photons = 250 * std::exp(random.uniform(-0.7, 0.7));
    parameters.deviation = random.uniform(0.0, 0.02);
    return parameters;
}

}  // namespace

pipeline::Sample augment(const pipeline::Sample& sample, const AugmentOptions& options, int ignored,
                         Random& random, cv::Matx23d* place) {
    const auto crop = randomCrop(sample.image.size(), options, random);
    if (place) *place = crop;
    const cv::Size size(options.width, options.height);
    cv::Mat source = sample.image;
    const double scale = std::abs(crop(0, 0));
    if (scale < 0.75) {  // blurs first, because warpAffine() aliases if the image shrinks much
        source = cv::Mat();
        cv::GaussianBlur(sample.image, source, {}, 0.4 / scale);
    }
    pipeline::Sample out;
    cv::warpAffine(source, out.image, crop, size, cv::INTER_LINEAR, cv::BORDER_CONSTANT,
                   cv::Scalar::all(127));
    if (!sample.labels.empty())
        cv::warpAffine(sample.labels, out.labels, crop, size, cv::INTER_NEAREST, cv::BORDER_CONSTANT,
                       cv::Scalar(ignored));
    if (options.colour > 0 && random.chance(0.8)) changeColour(out.image, options.colour, random);
    if (random.chance(options.night))
        out.image = street::night(out.image, options.fixedNight.value_or(randomNight(random)), random.next());
    return out;
}

}  // namespace mpm::models
