#include <algorithm>
#include <cmath>

#include "street/render/canvas.hpp"
#include "street/render/outlines.hpp"

namespace mpm::street {
namespace {

cv::Vec3f along(const Actor& actor, float ahead, float left, float up) {
    return actor.centre + actor.forward * ahead + cv::Vec3f(-actor.forward[2], 0, actor.forward[0]) * left +
           cv::Vec3f(0, up, 0);
}

bool isGround(uchar label) {
    return label == kRoad || label == kPavement;
}

/// Projects points to pixels of a frame; returns false if a point is behind the eye.
bool toFrame(const Stage& stage, const std::vector<cv::Vec3f>& points, int samples,
             std::vector<cv::Point>& pixels) {
    for (const auto& point : points) {
        const cv::Vec3f view = stage.camera.toView(point);
        if (view[2] < 0.8f) return false;
        const cv::Point2f p = stage.camera.project(view) * (1.0f / static_cast<float>(samples));
        pixels.emplace_back(cvRound(std::max(-4000.f, std::min(p.x, 8000.f))),
                            cvRound(std::max(-4000.f, std::min(p.y, 8000.f))));
    }
    return true;
}

/// Returns a soft mask (CV_8U) of the convex hull of points in a frame, and sets `area` to the mask's place.
/// Returns an empty mask if the hull is out of sight. `metres`: width of the soft edge.
cv::Mat softMask(const Stage& stage, const Backdrop& backdrop, const Actor& actor,
                 const std::vector<cv::Vec3f>& points, float metres, cv::Rect& area) {
    std::vector<cv::Point> pixels, hull;
    if (!toFrame(stage, points, backdrop.samples, pixels)) return {};
    const cv::Size size = backdrop.image.size();
    const float z = std::max(2.0f, stage.camera.toView(actor.centre)[2]);
    const int blur =
        std::max(1, cvRound(stage.camera.focal / static_cast<float>(backdrop.samples) * metres / z));
    cv::convexHull(pixels, hull);
    area = cv::boundingRect(hull);
    area = cv::Rect(area.x - 2 * blur, area.y - blur, area.width + 4 * blur, area.height + 2 * blur) &
           cv::Rect({0, 0}, size);
    if (area.empty()) return {};
    for (auto& p : hull)
        p -= area.tl();
    cv::Mat mask = cv::Mat::zeros(area.size(), CV_8U);
    cv::fillConvexPoly(mask, hull, 255, cv::LINE_AA);
    cv::blur(mask, mask, {2 * blur + 1, blur + 1 + (blur & 1)});
    return mask;
}

/// Darkens ground pixels in proportion to the mask. `rest`: factor for pixels with the mask value 255. If
/// `sunOnly` is true, the darkening is also proportional to the direct sun at the pixel.
void darken(const Backdrop& backdrop, const cv::Mat& mask, cv::Rect area, float rest, bool sunOnly,
            cv::Mat& image) {
    for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
            const int py = y + area.y, px = x + area.x;
            if (!mask.at<uchar>(y, x) || !isGround(backdrop.labels.at<uchar>(py, px))) continue;
            float share = static_cast<float>(mask.at<uchar>(y, x)) / 255.0f;
            if (sunOnly) share *= static_cast<float>(backdrop.sun.at<uchar>(py, px)) / 255.0f;
            auto& pixel = image.at<cv::Vec3b>(py, px);
            for (int c = 0; c < 3; ++c)
                pixel[c] = cv::saturate_cast<uchar>(static_cast<float>(pixel[c]) * (1 - share * (1 - rest)));
        }
    }
}

void contactShadow(const Stage& stage, const Backdrop& backdrop, const Actor& actor, cv::Mat& image) {
    const float l = actor.length * 0.5f, w = actor.width * 0.5f;
    cv::Rect area;
    const cv::Mat mask = softMask(
        stage, backdrop, actor,
        {along(actor, l, w, 0), along(actor, l, -w, 0), along(actor, -l, -w, 0), along(actor, -l, w, 0)},
        0.12f, area);
    if (!mask.empty()) darken(backdrop, mask, area, 0.42f, false, image);
}

void sunShadow(const Stage& stage, const Backdrop& backdrop, const Actor& actor, cv::Mat& image) {
    const auto& light = stage.light;
    if (light.toSun[1] < 0.06f) return;
    const float reach = std::min(6.0f, actor.height / light.toSun[1]);
    const cv::Vec3f shift(-light.toSun[0] * reach, 0, -light.toSun[2] * reach);
    const float l = actor.length * 0.46f, w = actor.width * 0.46f;
    std::vector<cv::Vec3f> points;
    for (float a : {-l, l}) {
        for (float b : {-w, w}) {
            points.push_back(along(actor, a, b, 0));
            points.push_back(along(actor, a * 0.7f, b * 0.8f, 0) + shift);
        }
    }
    cv::Rect area;
    const cv::Mat mask = softMask(stage, backdrop, actor, points, 0.06f, area);
    if (mask.empty()) return;
    const cv::Vec3f ambient = light.ambient({0, 1, 0}), direct = light.sun * light.toSun[1];
    const float left = ambient[1] / std::max(1e-4f, ambient[1] + direct[1]);
    darken(backdrop, mask, area, std::pow(left, 0.62f), true, image);
}

void headLight(const Stage& stage, const Backdrop& backdrop, const Actor& actor, cv::Mat& image) {
    for (int ring = 0; ring < 3; ++ring) {
        const float from = 2.4f + 0.4f * static_cast<float>(ring),
                    to = 14.0f - 3.5f * static_cast<float>(ring),
                    wide = 2.6f - 0.5f * static_cast<float>(ring);
        cv::Rect area;
        const cv::Mat mask = softMask(stage, backdrop, actor,
                                      {along(actor, from, 0.7f, 0), along(actor, from, -0.7f, 0),
                                       along(actor, to, -wide, 0), along(actor, to, wide, 0)},
                                      0.5f, area);
        for (int y = 0; y < area.height; ++y) {
            for (int x = 0; x < area.width; ++x) {
                if (!mask.at<uchar>(y, x) || !isGround(backdrop.labels.at<uchar>(y + area.y, x + area.x)))
                    continue;
                auto& pixel = image.at<cv::Vec3b>(y + area.y, x + area.x);
                const float gain =
                    static_cast<float>(mask.at<uchar>(y, x)) / 255.0f * 0.35f * stage.light.dark;
                const float add[] = {12, 17, 20};
                for (int c = 0; c < 3; ++c)
                    pixel[c] =
                        cv::saturate_cast<uchar>(static_cast<float>(pixel[c]) * (1 + gain) + add[c] * gain);
            }
        }
    }
}

void addGlare(const Stage& stage, const Backdrop& backdrop, const cv::Vec3f& at, float metres,
              const cv::Vec3f& bgr, cv::Mat& image) {
    const cv::Vec3f view = stage.camera.toView(at);
    if (view[2] < 1) return;
    const auto n = static_cast<float>(backdrop.samples);
    const cv::Point2f fine = stage.camera.project(view), p = fine * (1 / n);
    const cv::Rect whole({0, 0}, backdrop.depth.size());
    if (!whole.contains(cv::Point(fine)) || backdrop.depth.at<float>(cv::Point(fine)) < view[2] - 1.0f)
        return;
    const float radius = std::max(2.5f, stage.camera.focal / n * metres / view[2]);
    const int r = static_cast<int>(radius) + 1;
    const cv::Rect area =
        cv::Rect(static_cast<int>(p.x) - r, static_cast<int>(p.y) - r, 2 * r + 1, 2 * r + 1) &
        cv::Rect({0, 0}, image.size());
    for (int y = area.y; y < area.y + area.height; ++y) {
        for (int x = area.x; x < area.x + area.width; ++x) {
            const float dx = (static_cast<float>(x) - p.x) / radius,
                        dy = (static_cast<float>(y) - p.y) / radius;
            const float fall = std::max(0.0f, 1 - std::sqrt(dx * dx + dy * dy));
            auto& pixel = image.at<cv::Vec3b>(y, x);
            for (int c = 0; c < 3; ++c)
                pixel[c] =
                    cv::saturate_cast<uchar>(static_cast<float>(pixel[c]) + bgr[c] * fall * fall * fall);
        }
    }
}

}  // namespace

void paintGroundEffects(const Stage& stage, const Backdrop& backdrop, const std::vector<Actor>& actors,
                        cv::Mat& image) {
    for (const auto& actor : actors) {
        sunShadow(stage, backdrop, actor, image);
        contactShadow(stage, backdrop, actor, image);
    }
    if (stage.light.dark < 0.05f) return;
    for (const auto& actor : actors) {
        if (actor.lights) headLight(stage, backdrop, actor, image);
    }
}

void paintGlare(const Stage& stage, const Backdrop& backdrop, const std::vector<Actor>& actors,
                cv::Mat& image) {
    const float dark = stage.light.dark;
    if (dark < 0.05f) return;
    for (const auto& actor : actors) {
        if (!actor.lights) continue;
        const bool away = actor.forward.dot(actor.centre - stage.camera.position) > 0;
        for (float side : {-0.66f, 0.66f}) {
            if (away)
                addGlare(stage, backdrop, along(actor, -2.2f, side, 0.78f), 0.34f,
                         cv::Vec3f(40, 45, 190) * dark, image);
            else
                addGlare(stage, backdrop, along(actor, 2.2f, side, 0.65f), 0.9f,
                         cv::Vec3f(205, 225, 245) * dark, image);
        }
    }
}

}  // namespace mpm::street
