#include "street/owners.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::street {

void Owners::add(const Sprite& sprite, const Backdrop& backdrop, const Actor& actor, bool inBackdrop) {
    const int n = backdrop.samples, index = static_cast<int>(m_objects.size());
    StreetObject object{actor.id, actor.label, {}, 0};
    int pixels = 0;
    for (int y = 0; y < sprite.area.height / n; ++y) {
        for (int x = 0; x < sprite.area.width / n; ++x) {
            int covered = 0, visible = 0;
            for (int i = 0; i < n * n; ++i) {
                const int sy = y * n + i / n, sx = x * n + i % n;
                const float z = sprite.depth.at<float>(sy, sx);
                if (std::isinf(z)) continue;
                ++covered;
                const float behind = backdrop.depth.at<float>(sy + sprite.area.y, sx + sprite.area.x);
                if (z < behind || (inBackdrop && z == behind)) ++visible;
            }
            if (2 * covered < n * n) continue;
            const cv::Point at(x + sprite.area.x / n, y + sprite.area.y / n);
            ++pixels;
            object.box |= cv::Rect(at, cv::Size(1, 1));
            if (2 * visible >= n * n) m_owner.at<int>(at) = index;
        }
    }
    if (pixels == 0) return;
    m_objects.push_back(object);
    m_pixels.push_back(pixels);
}

std::vector<StreetObject> Owners::objects() const {
    std::vector<int> visible(m_objects.size());
    for (int y = 0; y < m_owner.rows; ++y)
        for (int x = 0; x < m_owner.cols; ++x)
            if (const int owner = m_owner.at<int>(y, x); owner >= 0) ++visible[static_cast<size_t>(owner)];
    std::vector<StreetObject> objects = m_objects;
    for (size_t i = 0; i < objects.size(); ++i)
        objects[i].visible = static_cast<double>(visible[i]) / m_pixels[i];
    std::sort(objects.begin(), objects.end(),
              [](const StreetObject& a, const StreetObject& b) { return a.id < b.id; });
    return objects;
}

Owners Owners::copy() const {
    Owners other = *this;
    other.m_owner = m_owner.clone();
    return other;
}

}  // namespace mpm::street
