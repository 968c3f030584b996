#include "pipeline/draw/merge_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <opencv2/imgproc.hpp>

#include <mpm/mpm.hpp>

namespace mpm::pipeline {

namespace {

constexpr int kColours = 12;
const std::array<cv::Vec3b, kColours> kClusters = {{{231, 76, 60},
                                                    {52, 152, 219},
                                                    {46, 204, 113},
                                                    {241, 196, 15},
                                                    {155, 89, 182},
                                                    {26, 188, 156},
                                                    {230, 126, 34},
                                                    {236, 112, 171},
                                                    {93, 109, 230},
                                                    {160, 210, 60},
                                                    {120, 200, 240},
                                                    {190, 130, 80}}};
const cv::Vec3b kSingle(128, 128, 128);

void checkMap(const cv::Mat& map, cv::Size grid) {
    CV_CheckTypeEQ(map.type(), CV_32S, "map: expected CV_32S, one row");
    CV_CheckEQ(static_cast<int>(map.total()), grid.area(),
               "map: expected one entry for each patch of the grid");
    CV_Assert(map.isContinuous());
}

std::vector<std::set<int>> touchingClusters(const int* map, cv::Size grid, size_t clusters) {
    std::vector<std::set<int>> touching(clusters);
    const auto meet = [&](int a, int b) {
        if (a == b) return;
        touching[a].insert(b);
        touching[b].insert(a);
    };
    for (int y = 0; y < grid.height; ++y)
        for (int x = 0; x < grid.width; ++x) {
            const int i = y * grid.width + x;
            if (x + 1 < grid.width) meet(map[i], map[i + 1]);
            if (y + 1 < grid.height) meet(map[i], map[i + grid.width]);
        }
    return touching;
}

/// Returns the colour of a line between two colours: darker than light colours, lighter than dark colours.
cv::Scalar lineColour(const cv::Vec3b& a, const cv::Vec3b& b) {
    const double light = (0.3 * (a[0] + b[0]) + 0.59 * (a[1] + b[1]) + 0.11 * (a[2] + b[2])) / 2;
    const double factor = light > 70 ? 0.55 : 1.0, offset = light > 70 ? 0 : 48;
    const auto mix = [&](int channel) { return (a[channel] + b[channel]) / 2.0 * factor + offset; };
    return {mix(2), mix(1), mix(0)};
}

/// Draws lines between clusters. `all`: whether to also draw lines between clusters of a single patch each.
void drawOutlines(cv::Mat& image, const int* map, const std::vector<int>& sizes, cv::Size grid,
                  const Palette& colours, bool all) {
    const int width = std::max(1, image.cols / grid.width / 24);
    const auto parted = [&](int a, int b) { return a != b && (all || sizes[a] > 1 || sizes[b] > 1); };
    const auto draw = [&](cv::Point from, cv::Point to, int a, int b) {
        const cv::Scalar colour = all ? lineColour(colours[a], colours[b]) : cv::Scalar(24, 24, 24);
        cv::rectangle(image, cv::Rect(from, to + cv::Point(width, width)), colour, cv::FILLED);
    };
    for (int y = 0; y < grid.height; ++y)
        for (int x = 0; x < grid.width; ++x) {
            const int i = y * grid.width + x;
            const cv::Rect cell = cellRect(x, y, grid, image.size());
            if (x + 1 < grid.width && parted(map[i], map[i + 1]))
                draw({cell.br().x, cell.y}, {cell.br().x, cell.br().y - width}, map[i], map[i + 1]);
            if (y + 1 < grid.height && parted(map[i], map[i + grid.width]))
                draw({cell.x, cell.br().y}, {cell.br().x - width, cell.br().y}, map[i], map[i + grid.width]);
        }
}

/// Returns RGB from light yellow (1 patch) to dark red (64 patches or more), linear in log2(size).
cv::Vec3b sizeColour(int size) {
    const double share = std::min(1.0, std::log2(double(size)) / 6);
    const cv::Vec3d low(255, 237, 160), high(189, 0, 38);
    const cv::Vec3d mixed = low + (high - low) * share;
    return {cv::saturate_cast<uchar>(mixed[0]), cv::saturate_cast<uchar>(mixed[1]),
            cv::saturate_cast<uchar>(mixed[2])};
}

Palette meanColours(const cv::Mat& image, const cv::Mat& map, cv::Size grid, size_t clusters) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "image: expected 8-bit BGR");
    cv::Mat patches;
    cv::resize(image, patches, grid, 0, 0, cv::INTER_AREA);
    std::vector<cv::Vec3d> sums(clusters);
    std::vector<int> counts(clusters, 0);
    for (int i = 0; i < grid.area(); ++i) {
        const int id = map.at<int>(i);
        sums[id] += cv::Vec3d(patches.at<cv::Vec3b>(i / grid.width, i % grid.width));
        ++counts[id];
    }
    Palette colours(clusters);
    for (size_t id = 0; id < clusters; ++id)
        for (int c = 0; c < 3; ++c)
            colours[id][c] = cv::saturate_cast<uchar>(sums[id][2 - c] / std::max(1, counts[id]));
    return colours;
}

struct CellColour {
    cv::Scalar colour;
    double opacity = 0;
};

/// Draws the image in grey, and the colour colourOf(i) over each patch i of the grid.
template <class ColourOf>
cv::Mat drawCells(const cv::Mat& image, cv::Size grid, const ColourOf& colourOf) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "image: expected 8-bit BGR");
    cv::Mat grey, drawn;
    cv::cvtColor(image, grey, cv::COLOR_BGR2GRAY);
    cv::cvtColor(grey, drawn, cv::COLOR_GRAY2BGR);
    for (int y = 0; y < grid.height; ++y)
        for (int x = 0; x < grid.width; ++x) {
            const CellColour cell = colourOf(y * grid.width + x);
            const cv::Rect place = cellRect(x, y, grid, image.size());
            if (cell.opacity == 0 || place.empty()) continue;
            cv::Mat target = drawn(place);
            target = target * (1 - cell.opacity) + cell.colour * cell.opacity;
        }
    return drawn;
}

}  // namespace

std::vector<int> clusterSizes(const cv::Mat& map) {
    CV_CheckTypeEQ(map.type(), CV_32S, "map: expected CV_32S, one row");
    std::vector<int> sizes;
    for (int i = 0; i < static_cast<int>(map.total()); ++i) {
        const int id = map.at<int>(i);
        CV_CheckGE(id, 0, "map: ids count from 0");
        CV_CheckLT(id, static_cast<int>(map.total()), "map: expected fewer clusters than tokens");
        if (id >= static_cast<int>(sizes.size())) sizes.resize(id + 1, 0);
        ++sizes[id];
    }
    return sizes;
}

Palette clusterColours(const cv::Mat& map, cv::Size grid) {
    checkMap(map, grid);
    const std::vector<int> sizes = clusterSizes(map);
    const int* ids = map.ptr<int>();
    const auto touching = touchingClusters(ids, grid, sizes.size());
    std::vector<int> chosen(sizes.size(), -1);
    for (int i = 0; i < static_cast<int>(map.total()); ++i) {
        const int id = ids[i];
        if (chosen[id] >= 0 || sizes[id] < 2) continue;
        std::array<int, kColours> used{};
        for (int other : touching[id])
            if (chosen[other] >= 0) ++used[chosen[other]];
        // Prefers a colour that depends only on the position of the first member, so that the colour stays
        // the same from frame to frame. All twelve colours occur along rows and columns, because 7 and 5 have
        // no common divisor with 12.
        const int start = (i % grid.width * 7 + i / grid.width * 5) % kColours;
        int best = start;
        for (int k = 0; k < kColours; ++k)
            if (used[(start + k) % kColours] < used[best]) best = (start + k) % kColours;
        chosen[id] = best;
    }
    Palette colours(sizes.size(), kSingle);
    for (size_t id = 0; id < sizes.size(); ++id)
        if (chosen[id] >= 0) colours[id] = kClusters[chosen[id]];
    return colours;
}

Palette clusterColours(const cv::Mat& image, const cv::Mat& map, cv::Size grid,
                       MergeMapStyle::Colours colours) {
    if (colours == MergeMapStyle::Colours::Distinct) return clusterColours(map, grid);
    checkMap(map, grid);
    const std::vector<int> sizes = clusterSizes(map);
    if (colours == MergeMapStyle::Colours::Mean) return meanColours(image, map, grid, sizes.size());
    Palette tints(sizes.size(), kSingle);
    for (size_t id = 0; id < sizes.size(); ++id)
        if (sizes[id] > 1) tints[id] = sizeColour(sizes[id]);
    return tints;
}

// Qt's lupdate finds the titles by the name of this macro.
#define QT_TRANSLATE_NOOP(context, text) text

const std::vector<MapColoursName>& mapColoursNames() {
    static const std::vector<MapColoursName> names = {
        {"mean", QT_TRANSLATE_NOOP("ViewControls", "Mean colours")},
        {"size", QT_TRANSLATE_NOOP("ViewControls", "Cluster size")},
        {"distinct", QT_TRANSLATE_NOOP("ViewControls", "Distinct")}};
    return names;
}

cv::Mat identityMap(int tokens) {
    cv::Mat map(1, tokens, CV_32S);
    std::iota(map.ptr<int>(), map.ptr<int>() + tokens, 0);
    return map;
}

cv::Mat drawMergeMap(const cv::Mat& image, const cv::Mat& map, cv::Size grid, const MergeMapStyle& style) {
    checkMap(map, grid);
    const std::vector<int> sizes = clusterSizes(map);
    const Palette colours = clusterColours(image, map, grid, style.colours);
    const bool mean = style.colours == MergeMapStyle::Colours::Mean;
    cv::Mat drawn = drawCells(image, grid, [&](int i) {
        const int id = map.at<int>(i);
        return CellColour{bgr(colours[id]), mean ? 1 : sizes[id] > 1 ? style.opacity : 0.35};
    });
    if (style.outlines) drawOutlines(drawn, map.ptr<int>(), sizes, grid, colours, mean);
    return drawn;
}

cv::Mat drawReuseMap(const cv::Mat& image, const cv::Mat& reasons, cv::Size grid) {
    CV_CheckTypeEQ(reasons.type(), CV_8U, "reasons: expected CV_8U, one row");
    CV_CheckEQ(static_cast<int>(reasons.total()), grid.area(),
               "reasons: expected one entry for each patch of the grid");
    return drawCells(image, grid, [&](int i) {
        const auto reason = static_cast<ReuseReason>(reasons.at<uchar>(i));
        return reason == ReuseReason::Kept        ? CellColour{}
               : reason == ReuseReason::Changed   ? CellColour{{30, 140, 255}, 0.5}
               : reason == ReuseReason::Refreshed ? CellColour{{230, 150, 40}, 0.5}
                                                  : CellColour{{200, 60, 200}, 0.5};
    });
}

}  // namespace mpm::pipeline
