#include "pipeline/draw/text.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "pipeline/draw/font.hpp"

namespace mpm::pipeline {

namespace {

constexpr double kBold = 1.3;  // least weight that is drawn in bold

/// OpenCV's Hershey font, used if no font is installed. Small text in this font is jagged, so the text is
/// drawn larger and scaled down.
namespace strokes {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr int kOver = 4;           // factor by which text is drawn larger
constexpr double kCapital = 21.0;  // height of a capital letter at font scale 1, in pixels

int width(const TextStyle& style) {
    return std::max(1, static_cast<int>(std::lround(style.height * kOver * 0.115 * style.weight)));
}

cv::Size sizeOf(const std::string& text, const TextStyle& style) {
    int below = 0;
    return cv::getTextSize(text, kFont, style.height * kOver / kCapital, width(style), &below);
}

cv::Mat coverage(const std::string& text, const TextStyle& style, int margin) {
    const cv::Size box = sizeOf(text, style);
    const cv::Size small((box.width + kOver - 1) / kOver + 2 * margin,
                         (box.height + kOver - 1) / kOver + 2 * margin);
    cv::Mat large = cv::Mat::zeros(small.height * kOver, small.width * kOver, CV_8U), mask;
    const cv::Point at(margin * kOver, large.rows - margin * kOver);
    cv::putText(large, text, at, kFont, style.height * kOver / kCapital, cv::Scalar(255), width(style),
                cv::LINE_AA);
    cv::resize(large, mask, small, 0, 0, cv::INTER_AREA);
    return mask;
}

}  // namespace strokes

const Font* fontOf(const TextStyle& style) {
    return Font::sans(style.weight >= kBold);
}

void blend(cv::Mat& image, const cv::Mat& mask, const cv::Scalar& colour) {
    for (int y = 0; y < image.rows; ++y) {
        auto* pixels = image.ptr<cv::Vec3b>(y);
        const uchar* weights = mask.ptr<uchar>(y);
        for (int x = 0; x < image.cols; ++x)
            for (int c = 0; c < 3; ++c)
                pixels[x][c] =
                    cv::saturate_cast<uchar>(pixels[x][c] + (colour[c] - pixels[x][c]) * weights[x] / 255.0);
    }
}

}  // namespace

double textWidth(const std::string& text, const TextStyle& style) {
    const Font* font = fontOf(style);
    if (font != nullptr) return font->width(text, style.height);
    return double(strokes::sizeOf(text, style).width) / strokes::kOver;
}

cv::Size textSize(const std::string& text, const TextStyle& style) {
    return {static_cast<int>(std::ceil(textWidth(text, style))), static_cast<int>(std::ceil(style.height))};
}

void drawText(cv::Mat& image, const std::string& text, cv::Point at, const TextStyle& style) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "image: expected 8-bit BGR");
    if (text.empty()) return;
    const Font* font = fontOf(style);
    const int margin = static_cast<int>(std::ceil(style.height));
    const cv::Mat mask =
        font != nullptr ? font->coverage(text, style.height, margin) : strokes::coverage(text, style, margin);
    const cv::Rect place(at.x - margin, at.y + margin - mask.rows, mask.cols, mask.rows);
    const cv::Rect seen = place & cv::Rect({0, 0}, image.size());
    if (seen.empty()) return;
    cv::Mat target = image(seen);
    blend(target, mask(seen - place.tl()), style.colour);
}

void drawCaption(cv::Mat& image, const std::string& text, int line) {
    TextStyle style;
    style.height = std::clamp(image.rows / 45.0, 7.0, 18.0);
    style.colour = {255, 255, 255};
    const int pad = static_cast<int>(style.height * 0.7);
    const int height = static_cast<int>(style.height) + 2 * pad;
    const cv::Rect plate(pad, pad + line * (height + pad / 2), textSize(text, style).width + 2 * pad, height);
    const cv::Rect seen = plate & cv::Rect({0, 0}, image.size());
    if (seen.empty()) return;
    cv::Mat target = image(seen);
    target.convertTo(target, -1, 0.35);
    drawText(image, text, {plate.x + pad, plate.y + height - pad}, style);
}

namespace {

constexpr int kGap = 12, kTitle = 34, kFooter = 32;

}  // namespace

cv::Mat drawPanels(const std::vector<Panel>& panels, const std::string& footer) {
    CV_Check(panels.size(), !panels.empty(), "panels: expected at least one");
    const int height = panels.front().image.rows;
    std::vector<cv::Mat> scaled;
    int width = kGap;
    for (const Panel& panel : panels) {
        CV_CheckTypeEQ(panel.image.type(), CV_8UC3, "image: expected 8-bit BGR");
        const int own = std::max(1, int(std::lround(double(panel.image.cols) * height / panel.image.rows)));
        cv::Mat image = panel.image;
        if (image.rows != height) cv::resize(panel.image, image, {own, height}, 0, 0, cv::INTER_AREA);
        scaled.push_back(image);
        width += image.cols + kGap;
    }
    const int bottom = footer.empty() ? kGap : kFooter;
    cv::Mat sheet(kTitle + height + bottom, width, CV_8UC3, cv::Scalar(255, 255, 255));
    TextStyle title{12, {45, 40, 38}, 1.5}, plain{11, {90, 85, 80}, 1};
    int x = kGap;
    for (size_t i = 0; i < panels.size(); ++i) {
        scaled[i].copyTo(sheet(cv::Rect({x, kTitle}, scaled[i].size())));
        drawText(sheet, panels[i].title, {x, 23}, title);
        x += scaled[i].cols + kGap;
    }
    drawText(sheet, footer, {kGap, sheet.rows - 11}, plain);
    return sheet;
}

}  // namespace mpm::pipeline
