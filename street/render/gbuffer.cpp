#include "street/render/gbuffer.hpp"

#include <limits>

#include "street/render/outlines.hpp"

namespace mpm::street {

static constexpr float kNear = 0.15f;

Gbuffer::Gbuffer(const Camera& camera, cv::Size size)
    : depth(size, CV_32F, cv::Scalar(std::numeric_limits<float>::infinity())),
      colour(size, CV_8UC3, cv::Scalar::all(0)),
      normal(size, CV_8SC3, cv::Scalar::all(0)),
      label(size, CV_8U, cv::Scalar(0)),
      glow(size, CV_8U, cv::Scalar(0)),
      m_camera(camera) {}

void Gbuffer::write(int x, int y, const Surface& surface) {
    for (int i = 0; i < 3; ++i) {
        colour.at<cv::Vec3b>(y, x)[i] = cv::saturate_cast<uchar>(surface.colour[i] * 255);
        normal.at<cv::Vec<schar, 3>>(y, x)[i] = cv::saturate_cast<schar>(surface.normal[i] * 127);
    }
    label.at<uchar>(y, x) = surface.label;
    glow.at<uchar>(y, x) = surface.glow;
}

/// Returns the pixels that a box may cover: all pixels if the box is partly behind the eye, none if wholly.
cv::Rect Gbuffer::bounds(const cv::Vec3f& low, const cv::Vec3f& high) const {
    const cv::Rect whole({0, 0}, size());
    cv::Point2f first(1e9f, 1e9f), last(-1e9f, -1e9f);
    int behind = 0;
    for (int corner = 0; corner < 8; ++corner) {
        const cv::Vec3f view = m_camera.toView(
            {corner & 1 ? high[0] : low[0], corner & 2 ? high[1] : low[1], corner & 4 ? high[2] : low[2]});
        if (view[2] < kNear) {
            ++behind;
            continue;
        }
        const cv::Point2f pixel = m_camera.project(view);
        first = {std::min(first.x, pixel.x), std::min(first.y, pixel.y)};
        last = {std::max(last.x, pixel.x), std::max(last.y, pixel.y)};
    }
    if (behind == 8) return {};
    if (behind > 0) return whole;
    const auto clamp = [](float v) { return static_cast<int>(std::max(-10.0f, std::min(v, 1e5f))); };
    return cv::Rect(cv::Point(clamp(first.x) - 1, clamp(first.y) - 1),
                    cv::Point(clamp(last.x) + 2, clamp(last.y) + 2)) &
           whole;
}

/// Returns the part of a polygon in front of the eye. `view`: corners in camera coordinates.
static std::vector<cv::Vec3f> clipNear(const std::vector<cv::Vec3f>& view) {
    std::vector<cv::Vec3f> kept;
    for (size_t i = 0; i < view.size(); ++i) {
        const auto &a = view[i], &b = view[(i + 1) % view.size()];
        if (a[2] >= kNear) kept.push_back(a);
        if ((a[2] >= kNear) != (b[2] >= kNear))
            kept.push_back(a + (b - a) * ((kNear - a[2]) / (b[2] - a[2])));
    }
    return kept;
}

void Gbuffer::polygon(const std::vector<cv::Vec3f>& world, const Surface& surface) {
    std::vector<cv::Vec3f> view;
    for (const auto& point : world)
        view.push_back(m_camera.toView(point));
    view = clipNear(view);
    if (view.size() < 3) return;
    std::vector<cv::Point> pixels;
    for (const auto& point : view) {
        const cv::Point2f p = m_camera.project(point);
        pixels.emplace_back(cvRound(std::max(-3e4f, std::min(p.x, 3e4f))),
                            cvRound(std::max(-3e4f, std::min(p.y, 3e4f))));
    }
    const cv::Rect area = cv::boundingRect(pixels) & cv::Rect({0, 0}, size());
    if (area.empty()) return;
    cv::Mat mask = cv::Mat::zeros(area.size(), CV_8U);
    for (auto& pixel : pixels)
        pixel -= area.tl();
    cv::fillConvexPoly(mask, pixels, 255);
    const cv::Vec3f facing = (view[1] - view[0]).cross(view[2] - view[0]);
    const float offset = facing.dot(view[0]);
    float nearest = view[0][2], farthest = view[0][2];
    for (const auto& point : view) {
        nearest = std::min(nearest, point[2]);
        farthest = std::max(farthest, point[2]);
    }
    for (int y = 0; y < area.height; ++y) {
        for (int x = 0; x < area.width; ++x) {
            if (!mask.at<uchar>(y, x)) continue;
            const float u = (static_cast<float>(x + area.x) + 0.5f - m_camera.centre.x) / m_camera.focal;
            const float v = (m_camera.centre.y - static_cast<float>(y + area.y) - 0.5f) / m_camera.focal;
            const float speed = facing.dot({u, v, 1});
            const float z = std::abs(speed) < 1e-12f ? nearest : offset / speed;
            put(x + area.x, y + area.y, std::max(nearest, std::min(z, farthest)), surface);
        }
    }
}

void Gbuffer::post(const cv::Vec3f& foot, const cv::Vec3f& top, float radiusFoot, float radiusTop,
                   Surface surface) {
    const cv::Vec3f axis = top - foot;
    const cv::Vec3f view = foot - m_camera.position;
    cv::Vec3f side = axis.cross(view);
    const float length = std::sqrt(side.dot(side));
    if (length < 1e-6f) return;
    side *= 1 / length;
    const cv::Vec3f front = side.cross(axis) * (1 / std::max(1e-6f, std::sqrt(axis.dot(axis))));
    constexpr int kStrips = 4;
    for (int i = 0; i < kStrips; ++i) {
        const float a = -1 + 2.0f * static_cast<float>(i) / kStrips, b = a + 2.0f / kStrips,
                    middle = (a + b) / 2;
        surface.normal =
            side * middle - front * std::sqrt(1 - middle * middle) * (front.dot(view) > 0 ? 1.0f : -1.0f);
        polygon({foot + side * (a * radiusFoot), foot + side * (b * radiusFoot), top + side * (b * radiusTop),
                 top + side * (a * radiusTop)},
                surface);
    }
}

}  // namespace mpm::street
