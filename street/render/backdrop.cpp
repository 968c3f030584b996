#include <cmath>

#include <opencv2/imgproc.hpp>

#include "base/loops.hpp"
#include "street/render/canvas.hpp"

namespace mpm::street {
namespace {

cv::Vec3f normalAt(const Gbuffer& buffer, int y, int x) {
    const auto n = buffer.normal.at<cv::Vec<schar, 3>>(y, x);
    return cv::Vec3f(n[0], n[1], n[2]) * (1 / 127.0f);
}

cv::Vec3f pointAt(const Gbuffer& buffer, int y, int x) {
    const auto& camera = buffer.camera();
    return camera.position + camera.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f) *
                                 buffer.depth.at<float>(y, x);
}

/// Computes value(y, x) for every step-th pixel across and down, and enlarges the result to all pixels.
template <typename Value>
cv::Mat coarse(const Gbuffer& buffer, int step, Value value) {
    const cv::Size size((buffer.size().width + step - 1) / step, (buffer.size().height + step - 1) / step);
    cv::Mat map(size, CV_32F);
    parallelRanges(size.height, [&](const cv::Range& rows) {
        for (int y = rows.start; y < rows.end; ++y) {
            for (int x = 0; x < size.width; ++x) {
                const int fineY = std::min(y * step + step / 2, buffer.size().height - 1);
                const int fineX = std::min(x * step + step / 2, buffer.size().width - 1);
                map.at<float>(y, x) =
                    std::isinf(buffer.depth.at<float>(fineY, fineX)) ? 0.0f : value(fineY, fineX);
            }
        }
    });
    cv::Mat full;
    cv::resize(map, full, buffer.size(), 0, 0, cv::INTER_LINEAR);
    return full;
}

cv::Mat sunMap(const Stage& stage, const Gbuffer& buffer, int step) {
    return coarse(buffer, step, [&](int y, int x) {
        const cv::Vec3f normal = normalAt(buffer, y, x);
        if (normal.dot(stage.light.toSun) <= 0) return 0.0f;
        return stage.occluders.sunAt(pointAt(buffer, y, x) + normal * 0.06f, stage.light.toSun);
    });
}

cv::Mat skyMap(const Gbuffer& buffer, const Sky& sky, const Light& light, int samples) {
    cv::Mat map(buffer.size() / samples, CV_32FC3, cv::Scalar::all(0));
    parallelRanges(map.rows, [&](const cv::Range& rows) {
        for (int y = rows.start; y < rows.end; ++y) {
            for (int x = 0; x < map.cols; ++x) {
                bool open = false;
                for (int i = 0; i < samples * samples && !open; ++i) {
                    open = std::isinf(
                        buffer.depth.at<float>(y * samples + i / samples, x * samples + i % samples));
                }
                if (open) map.at<cv::Vec3f>(y, x) = sky.at(x, y, light);
            }
        }
    });
    return map;
}

cv::Vec3f haze(const cv::Vec3f& colour, float z, const Light& light) {
    const float share = 1 - std::exp(-z / 420.0f);
    return colour * (1 - share) + light.skyLow * (0.8f * share);
}

struct GlowTable {
    cv::Vec3f light[256];
    explicit GlowTable(const Light& now) {
        for (int kind = 0; kind < 256; ++kind)
            light[kind] = now.glow(static_cast<uchar>(kind));
    }
};

}  // namespace

cv::Mat lampMap(const Layout& layout, const Gbuffer& buffer, int step) {
    return coarse(buffer, step, [&](int y, int x) {
        return lampLight(layout, pointAt(buffer, y, x), normalAt(buffer, y, x));
    });
}

Backdrop lightStreet(const Stage& stage, const Gbuffer& buffer, const Sky& sky, const cv::Mat& lamps,
                     int samples, const std::vector<Actor>& parked) {
    const Light& now = stage.light;
    const cv::Mat sun = sunMap(stage, buffer, 2 * samples), skies = skyMap(buffer, sky, now, samples);
    const GlowTable glow(now);
    cv::Mat fine(buffer.size(), CV_8UC3);
    parallelRanges(fine.rows, [&](const cv::Range& rows) {
        for (int y = rows.start; y < rows.end; ++y) {
            for (int x = 0; x < fine.cols; ++x) {
                const float z = buffer.depth.at<float>(y, x);
                if (std::isinf(z)) {
                    fine.at<cv::Vec3b>(y, x) = now.toPixel(skies.at<cv::Vec3f>(y / samples, x / samples));
                    continue;
                }
                const cv::Vec3f normal = normalAt(buffer, y, x);
                const float facing = std::max(0.0f, normal.dot(now.toSun)) * sun.at<float>(y, x);
                const cv::Vec3f arriving =
                    now.ambient(normal) + now.sun * facing + now.lamp * lamps.at<float>(y, x);
                const cv::Vec3b colour = buffer.colour.at<cv::Vec3b>(y, x);
                cv::Vec3f leaving = glow.light[buffer.glow.at<uchar>(y, x)];
                for (int i = 0; i < 3; ++i)
                    leaving[i] += linearOf(colour[i]) * arriving[i];
                fine.at<cv::Vec3b>(y, x) = now.toPixel(haze(leaving, z, now));
            }
        }
    });
    Backdrop backdrop;
    backdrop.samples = samples;
    backdrop.depth = buffer.depth.clone();
    cv::Mat fineLabels = buffer.label.clone();
    for (const auto& actor : parked)
        paintFine(stage, actor, fine, fineLabels, backdrop.depth);
    const cv::Size size = buffer.size() / samples;
    cv::resize(fine, backdrop.image, size, 0, 0, cv::INTER_AREA);
    cv::resize(fineLabels, backdrop.labels, size, 0, 0, cv::INTER_NEAREST);
    cv::Mat sunFrame;
    cv::resize(sun, sunFrame, size, 0, 0, cv::INTER_NEAREST);
    sunFrame.convertTo(backdrop.sun, CV_8U, 255);
    return backdrop;
}

}  // namespace mpm::street
