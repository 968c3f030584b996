#include "pipeline/draw/boxes.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "pipeline/draw/text.hpp"

namespace mpm::pipeline {

namespace {

/// Sizes of lines and text. The sizes grow with the image, because a screen shows a large image scaled down.
struct Measures {
    int line;
    double capital;
    int margin;

    explicit Measures(cv::Size image) {
        const double side = std::sqrt(static_cast<double>(image.width) * image.height);
        line = std::clamp(cvRound(side / 350), 1, 6);
        capital = std::clamp(side / 70, 8., 28.);
        margin = std::max(2, cvRound(capital / 3));
    }
};

cv::Rect pixelsOf(const cv::Rect2f& box) {
    return {cvRound(box.x), cvRound(box.y), std::max(1, cvRound(box.width)),
            std::max(1, cvRound(box.height))};
}

void tint(cv::Mat& image, const DrawnBox& one, double opacity) {
    const cv::Rect place(std::min(cvRound(one.box.x), image.cols - one.mask.cols),
                         std::min(cvRound(one.box.y), image.rows - one.mask.rows), one.mask.cols,
                         one.mask.rows);
    if ((place & cv::Rect({0, 0}, image.size())) != place) return;
    cv::Mat part = image(place), coloured;
    cv::addWeighted(part, 1 - opacity, cv::Mat(part.size(), part.type(), bgr(one.colour)), opacity, 0,
                    coloured);
    coloured.copyTo(part, one.mask);
}

/// Returns a dark or a light colour for text, depending on which is easier to read on `rgb`.
cv::Scalar inkOn(const cv::Vec3b& rgb) {
    const double light = .299 * rgb[0] + .587 * rgb[1] + .114 * rgb[2];
    return light > 140 ? cv::Scalar(20, 20, 20) : cv::Scalar(255, 255, 255);
}

/// Returns a free place for a label: above the box, else inside, else below; above the box if none is free.
cv::Rect plateOf(const cv::Rect& box, cv::Size text, const Measures& m, cv::Size image,
                 const std::vector<cv::Rect>& taken) {
    const cv::Size size(text.width + 2 * m.margin, text.height + 2 * m.margin);
    const int left = std::clamp(box.x - m.line / 2, 0, std::max(0, image.width - size.width));
    const int above = box.y - size.height, inside = std::max(0, box.y);
    const auto isFree = [&](int y) {
        const cv::Rect plate({left, y}, size);
        return y >= 0 && y + size.height <= image.height &&
               std::none_of(taken.begin(), taken.end(),
                            [&](const cv::Rect& t) { return !(t & plate).empty(); });
    };
    for (int y : {above, inside, box.y + box.height - size.height, box.y + box.height})
        if (isFree(y)) return {{left, y}, size};
    return {{left, std::clamp(above, 0, std::max(0, image.height - size.height))}, size};
}

}  // namespace

cv::Vec3b classColour(const Palette& palette, int label) {
    if (label >= 0 && label < static_cast<int>(palette.size())) return palette[label];
    const Palette own = defaultPalette(256);
    return own[static_cast<size_t>(std::abs(label)) % own.size()];
}

std::string className(const std::vector<std::string>& names, int label) {
    const bool named = label >= 0 && label < static_cast<int>(names.size()) && !names[label].empty();
    return named ? names[label] : "class " + std::to_string(label);
}

std::vector<DrawnBox> drawnBoxes(const std::vector<Detection>& objects, const std::vector<std::string>& names,
                                 const Palette& palette) {
    std::vector<DrawnBox> boxes;
    for (const Detection& one : objects)
        boxes.push_back({one.box, printable(className(names, one.label), 40) + " " + fixedText(one.score, 2),
                         classColour(palette, one.label), one.mask});
    return boxes;
}

cv::Mat drawBoxes(const cv::Mat& image, const std::vector<DrawnBox>& boxes, double opacity) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "image: expected 8-bit BGR");
    const Measures m(image.size());
    cv::Mat drawn = image.clone();
    for (auto one = boxes.rbegin(); one != boxes.rend(); ++one)
        if (!one->mask.empty()) tint(drawn, *one, opacity);
    for (auto one = boxes.rbegin(); one != boxes.rend(); ++one) {
        // Draws a wider dark line first, so that the coloured line is visible on any image.
        const cv::Rect box = pixelsOf(one->box);
        cv::rectangle(drawn, box, cv::Scalar(20, 20, 20), m.line + 2, cv::LINE_AA);
        cv::rectangle(drawn, box, bgr(one->colour), m.line, cv::LINE_AA);
    }
    std::vector<cv::Rect> taken;
    for (const DrawnBox& one : boxes) {
        if (one.text.empty()) continue;
        TextStyle style;
        style.height = m.capital;
        style.weight = 1.6;
        style.colour = inkOn(one.colour);
        const cv::Rect plate = plateOf(pixelsOf(one.box), textSize(one.text, style), m, image.size(), taken);
        cv::rectangle(drawn, plate, bgr(one.colour), cv::FILLED);
        drawText(drawn, one.text, {plate.x + m.margin, plate.y + plate.height - m.margin}, style);
        taken.push_back(plate);
    }
    return drawn;
}

}  // namespace mpm::pipeline
