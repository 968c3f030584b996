#include "street/render/canvas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <opencv2/imgproc.hpp>

namespace mpm::street {
namespace {

constexpr int kShift = 4;  // sub-pixel bits of OpenCV's polygon filler

struct Projected {
    std::vector<cv::Point2f> pixels;
    float depth = 0;
};

bool project(const Camera& camera, const Facet& facet, Projected& out) {
    for (const auto& point : facet.points) {
        const cv::Vec3f view = camera.toView(point);
        if (view[2] < 0.6f) return false;
        out.pixels.push_back(camera.project(view));
        out.depth += view[2] / static_cast<float>(facet.points.size());
    }
    return true;
}

cv::Vec3b shade(const Stage& stage, const Facet& facet, bool shining, float sun, float lamp) {
    const Light& light = stage.light;
    const float facing = std::max(0.0f, facet.normal.dot(light.toSun)) * sun;
    const cv::Vec3f arriving = light.ambient(facet.normal) + light.sun * facing + light.lamp * lamp;
    cv::Vec3f leaving;
    for (int i = 0; i < 3; ++i)
        leaving[i] = std::pow(std::min(1.0f, facet.colour[i]), 2.2f) * arriving[i];
    const float up = std::max(0.0f, facet.normal[1]);
    // Glass and lacquer mirror the sky, most of all on surfaces that face up.
    if (facet.shine == Shine::Glass)
        leaving += light.skyLow * (0.03f + 0.05f * up) + light.skyAbove * (0.05f + 0.18f * up);
    if (facet.shine == Shine::Lacquer)
        leaving += light.skyLow * 0.025f + light.skyAbove * (0.02f + 0.10f * up * up);
    if (facet.shine == Shine::Head) leaving += cv::Vec3f(6, 5.6f, 4.8f) * (shining ? light.dark : 0.0f);
    if (facet.shine == Shine::Tail) leaving += cv::Vec3f(1.3f, 0.05f, 0.03f) * (shining ? light.dark : 0.0f);
    return light.toPixel(leaving);
}

}  // namespace

Sprite renderSprite(const Stage& stage, const Actor& actor, cv::Size fineSize, int align) {
    std::vector<Projected> shapes(actor.facets.size());
    std::vector<bool> visible(actor.facets.size());
    cv::Point2f low(1e9f, 1e9f), high(-1e9f, -1e9f);
    for (size_t i = 0; i < actor.facets.size(); ++i) {
        visible[i] = project(stage.camera, actor.facets[i], shapes[i]);
        if (!visible[i]) continue;
        for (const auto& p : shapes[i].pixels) {
            low = {std::min(low.x, p.x), std::min(low.y, p.y)};
            high = {std::max(high.x, p.x), std::max(high.y, p.y)};
        }
    }
    Sprite sprite;
    if (low.x > high.x || high.x < 0 || high.y < 0 || low.x > fineSize.width || low.y > fineSize.height)
        return sprite;
    const auto down = [&](float v) {
        return std::max(0, static_cast<int>(std::floor(v - 1)) / align * align);
    };
    const auto up = [&](float v, int limit) {
        return std::min(limit, (static_cast<int>(std::ceil(v + 1)) + align - 1) / align * align);
    };
    sprite.area = cv::Rect(cv::Point(down(low.x), down(low.y)),
                           cv::Point(up(high.x, fineSize.width), up(high.y, fineSize.height)));
    if (sprite.area.width <= 0 || sprite.area.height <= 0) return Sprite{};
    sprite.colour = cv::Mat(sprite.area.size(), CV_8UC3, cv::Scalar::all(0));
    sprite.depth = cv::Mat(sprite.area.size(), CV_32F, cv::Scalar(std::numeric_limits<float>::infinity()));
    const cv::Vec3f middle = actor.centre + cv::Vec3f(0, actor.height * 0.6f, 0);
    const float sun = stage.occluders.sunAt(middle, stage.light.toSun);
    const float lamp = stage.light.dark > 0 ? lampLight(stage.layout, middle, {0, 1, 0}) : 0.0f;
    for (size_t i = 0; i < actor.facets.size(); ++i) {
        if (!visible[i]) continue;
        std::vector<cv::Point> corners;
        for (const auto& p : shapes[i].pixels) {
            corners.emplace_back(cvRound((p.x - static_cast<float>(sprite.area.x)) * (1 << kShift)),
                                 cvRound((p.y - static_cast<float>(sprite.area.y)) * (1 << kShift)));
        }
        const cv::Vec3b colour = shade(stage, actor.facets[i], actor.lights, sun, lamp);
        cv::fillConvexPoly(sprite.colour, corners, cv::Scalar(colour[0], colour[1], colour[2]), cv::LINE_8,
                           kShift);
        cv::fillConvexPoly(sprite.depth, corners, cv::Scalar(shapes[i].depth), cv::LINE_8, kShift);
    }
    return sprite;
}

void paintFine(const Stage& stage, const Actor& actor, cv::Mat& fine, cv::Mat& labels, cv::Mat& depth) {
    const Sprite sprite = renderSprite(stage, actor, fine.size(), 1);
    for (int y = 0; y < sprite.area.height; ++y) {
        for (int x = 0; x < sprite.area.width; ++x) {
            const float z = sprite.depth.at<float>(y, x);
            const int fineY = y + sprite.area.y, fineX = x + sprite.area.x;
            if (z >= depth.at<float>(fineY, fineX)) continue;
            depth.at<float>(fineY, fineX) = z;
            fine.at<cv::Vec3b>(fineY, fineX) = sprite.colour.at<cv::Vec3b>(y, x);
            labels.at<uchar>(fineY, fineX) = actor.label;
        }
    }
}

void paintActor(const Sprite& sprite, const Backdrop& backdrop, uchar label, cv::Mat& image,
                cv::Mat& labels) {
    const int n = backdrop.samples;
    for (int y = 0; y < sprite.area.height / n; ++y) {
        for (int x = 0; x < sprite.area.width / n; ++x) {
            int covered = 0;
            cv::Vec3i sum(0, 0, 0);
            for (int i = 0; i < n * n; ++i) {
                const int sy = y * n + i / n, sx = x * n + i % n;
                if (sprite.depth.at<float>(sy, sx) >=
                    backdrop.depth.at<float>(sy + sprite.area.y, sx + sprite.area.x))
                    continue;
                ++covered;
                sum += cv::Vec3i(sprite.colour.at<cv::Vec3b>(sy, sx));
            }
            if (covered == 0) continue;
            const int py = y + sprite.area.y / n, px = x + sprite.area.x / n;
            auto& pixel = image.at<cv::Vec3b>(py, px);
            for (int c = 0; c < 3; ++c)
                pixel[c] = static_cast<uchar>((sum[c] + pixel[c] * (n * n - covered)) / (n * n));
            if (2 * covered >= n * n) labels.at<uchar>(py, px) = label;
        }
    }
}

}  // namespace mpm::street
