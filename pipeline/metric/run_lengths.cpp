#include "pipeline/metric/coco.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"

namespace mpm::pipeline {

namespace {

constexpr double kLargestNumber = 1e7;
constexpr size_t kMostCrossings = size_t{1} << 24;

int64_t pixels(cv::Size size) {
    if (size.width < 0 || size.height < 0) CV_Error(cv::Error::StsOutOfRange, "a mask has a negative size");
    const auto total = checkedProduct<int64_t>(int64_t{size.width}, int64_t{size.height});
    if (total > UINT32_MAX) CV_Error(cv::Error::StsOutOfRange, "a mask has more than 2^32 pixels");
    return total;
}

/// Makes runs from the sorted positions at which the mask changes between outside and inside. Two changes at
/// the same position cancel each other.
RunLengths fromChanges(cv::Size size, const std::vector<uint32_t>& sorted) {
    RunLengths mask{size, {0}};
    uint32_t at = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
        if (i + 1 < sorted.size() && sorted[i] == sorted[i + 1]) {
            ++i;
            continue;
        }
        mask.runs.back() += sorted[i] - at;
        mask.runs.push_back(0);
        at = sorted[i];
    }
    mask.runs.back() += static_cast<uint32_t>(pixels(size)) - at;
    if (mask.runs.size() > 1 && mask.runs.back() == 0) mask.runs.pop_back();
    mask.runs.shrink_to_fit();
    return mask;
}

/// A side of a polygon in fifths of a pixel.
struct Side {
    int64_t fromX, fromY, toX, toY;
};

/// The crossings of an outline with the middle of each column. At each crossing, the mask changes between
/// outside and inside.
class Outline {
public:
    Outline(cv::Size size, size_t& budget) : m_size(size), m_budget(budget) {}

    void add(Side side) {
        const int64_t wide = std::abs(side.toX - side.fromX), high = std::abs(side.toY - side.fromY);
        const bool flat = wide >= high;
        // Rounding depends on the direction of a side. As in COCO's code, flat sides run to the right and
        // steep sides run down.
        if (flat ? side.fromX > side.toX : side.fromY > side.toY)
            side = {side.toX, side.toY, side.fromX, side.fromY};
        const int64_t left = std::min(side.fromX, side.toX), right = std::max(side.fromX, side.toX);
        // In fifths of a pixel, the middle of column x is between 5 x + 2 and 5 x + 3.
        const int64_t first = std::max<int64_t>(0, left <= 2 ? 0 : (left - 2 + 4) / 5);
        const int64_t last = std::min<int64_t>(m_size.width - 1, right < 3 ? -1 : (right - 3) / 5);
        for (int64_t column = first; column <= last; ++column)
            addCrossing(column, flat ? flatCrossing(side, column) : steepCrossing(side, column));
    }
    std::vector<uint32_t> sorted() {
        std::sort(m_changes.begin(), m_changes.end());
        return std::move(m_changes);
    }

private:
    static int64_t rounded(double value) { return static_cast<int64_t>(value + .5); }

    static int64_t flatCrossing(const Side& side, int64_t column) {
        const double slope = static_cast<double>(side.toY - side.fromY) / (side.toX - side.fromX);
        const auto yAt = [&](int64_t x) { return rounded(side.fromY + slope * (x - side.fromX)); };
        return std::min(yAt(5 * column + 2), yAt(5 * column + 3));
    }
    static int64_t steepCrossing(const Side& side, int64_t column) {
        const double slope = static_cast<double>(side.toX - side.fromX) / (side.toY - side.fromY);
        const int64_t high = side.toY - side.fromY;
        const auto isRight = [&](int64_t y) { return rounded(side.fromX + slope * y) > 5 * column + 2; };
        const bool startsRight = isRight(0);
        // Finds the first y at which the rounded side has crossed the middle of the column. Starts near the
        // exact crossing, because rounding moves the crossing only a little.
        auto y = static_cast<int64_t>((5 * column + 2.5 - side.fromX) / slope);
        y = std::clamp<int64_t>(y, 1, high);
        while (y > 1 && isRight(y - 1) != startsRight)
            --y;
        while (y < high && isRight(y) == startsRight)
            ++y;
        return side.fromY + y - 1;
    }
    void addCrossing(int64_t column, int64_t fifths) {
        if (m_budget-- == 0)
            CV_Error(cv::Error::StsOutOfRange,
                     "the outlines of a mask cross more than 2^24 columns; such a mask is not read");
        const double y = std::clamp((static_cast<double>(fifths) + .5) / 5 - .5, 0., double(m_size.height));
        m_changes.push_back(
            static_cast<uint32_t>(column * m_size.height + static_cast<int64_t>(std::ceil(y))));
    }

    const cv::Size m_size;
    size_t& m_budget;
    std::vector<uint32_t> m_changes;
};

std::vector<uint32_t> changesOf(const std::vector<double>& polygon, cv::Size size, size_t& budget) {
    Outline outline(size, budget);
    const size_t corners = polygon.size() / 2;
    const auto at = [&](size_t i) {
        if (!(std::abs(polygon[i]) <= kLargestNumber))
            CV_Error(cv::Error::StsOutOfRange, "a polygon has a number that is not finite or exceeds 10^7");
        return static_cast<int64_t>(5 * polygon[i] + .5);
    };
    for (size_t i = 0; i < corners; ++i) {
        const size_t next = (i + 1) % corners;
        outline.add({at(2 * i), at(2 * i + 1), at(2 * next), at(2 * next + 1)});
    }
    return outline.sorted();
}

template <class Take>
void forEachRun(const RunLengths& mask, const Take& take) {
    int64_t at = 0;
    for (size_t i = 0; i < mask.runs.size(); ++i) {
        if (i % 2 == 1 && mask.runs[i] > 0) take(at, at + mask.runs[i]);
        at += mask.runs[i];
    }
}

}  // namespace

int64_t RunLengths::area() const {
    int64_t sum = 0;
    for (size_t i = 1; i < runs.size(); i += 2)
        sum += runs[i];
    return sum;
}

cv::Rect RunLengths::box() const {
    int64_t left = size.width, right = -1, top = size.height, bottom = -1;
    forEachRun(*this, [&](int64_t from, int64_t to) {
        const int64_t first = from / size.height, last = (to - 1) / size.height;
        left = std::min(left, first);
        right = std::max(right, last);
        top = std::min(top, last > first ? 0 : from % size.height);
        bottom = std::max(bottom, last > first ? size.height - 1 : (to - 1) % size.height);
    });
    if (right < 0) return {};
    return cv::Rect(cv::Point(int(left), int(top)), cv::Point(int(right) + 1, int(bottom) + 1));
}

cv::Mat RunLengths::mask() const {
    cv::Mat columns = cv::Mat::zeros(size.width, size.height, CV_8U);
    forEachRun(*this, [&](int64_t from, int64_t to) {
        std::fill(columns.data + from, columns.data + to, uchar{1});
    });
    return columns.t();
}

RunLengths runLengths(cv::Size size, const std::vector<int64_t>& runs) {
    int64_t sum = 0;
    const int64_t all = pixels(size);
    RunLengths mask{size, {}};
    mask.runs.reserve(runs.size());
    for (const int64_t run : runs) {
        if (run < 0 || run > all - sum)
            CV_Error(cv::Error::StsOutOfRange, "a mask's run is negative or ends outside of the image");
        sum += run;
        mask.runs.push_back(static_cast<uint32_t>(run));
    }
    if (sum != all)
        CV_Error(cv::Error::StsOutOfRange,
                 "a mask's runs have " + std::to_string(sum) + " pixels, its size " + std::to_string(all));
    return mask;
}

RunLengths runLengths(const cv::Mat& mask) {
    CV_Assert(mask.type() == CV_8UC1);
    const cv::Mat columns = mask.t();
    std::vector<uint32_t> changes;
    for (uint32_t i = 0; i < columns.total(); ++i)
        if ((columns.data[i] != 0) != (i > 0 && columns.data[i - 1] != 0)) changes.push_back(i);
    return fromChanges(mask.size(), changes);
}

// From the fourth run on, each number is the difference from the run two places earlier. Each character,
// minus '0', contains five bits of the number, the lowest bits first. If the bit of value 32 is set, another
// character follows; in the last character, the bit of value 16 is the sign.
RunLengths runLengthsFrom(cv::Size size, const std::string& text) {
    std::vector<int64_t> runs;
    for (size_t at = 0; at < text.size();) {
        int64_t value = 0;
        int shift = 0, digit = 0;
        do {
            if (at == text.size() || text[at] < '0' || text[at] > 'o' || shift > 35)
                CV_Error(cv::Error::StsParseError, "a mask's compressed text is damaged");
            digit = text[at++] - '0';
            value |= static_cast<int64_t>(digit & 31) << shift;
            shift += 5;
        } while ((digit & 32) != 0);
        if ((digit & 16) != 0) value -= int64_t{1} << shift;
        if (runs.size() > 2) value += runs[runs.size() - 2];
        runs.push_back(value);
    }
    return runLengths(size, runs);
}

std::string runLengthsText(const RunLengths& mask) {
    std::string text;
    for (size_t i = 0; i < mask.runs.size(); ++i) {
        int64_t value = mask.runs[i];
        if (i > 2) value -= mask.runs[i - 2];
        for (bool more = true; more;) {
            const int digit = static_cast<int>(value & 31);
            value >>= 5;
            more = value != ((digit & 16) != 0 ? -1 : 0);
            text += static_cast<char>('0' + (more ? digit | 32 : digit));
        }
    }
    return text;
}

RunLengths runLengthsOf(const std::vector<std::vector<double>>& polygons, cv::Size size) {
    pixels(size);
    size_t budget = kMostCrossings;
    if (polygons.size() == 1) return fromChanges(size, changesOf(polygons[0], size, budget));
    std::vector<std::pair<uint32_t, int>> borders;  // +1 at the beginning of a polygon's run, -1 at the end
    for (const std::vector<double>& polygon : polygons)
        forEachRun(fromChanges(size, changesOf(polygon, size, budget)), [&](int64_t from, int64_t to) {
            borders.emplace_back(static_cast<uint32_t>(from), 1);
            borders.emplace_back(static_cast<uint32_t>(to), -1);
        });
    std::sort(borders.begin(), borders.end());
    std::vector<uint32_t> changes;
    int inside = 0;
    for (const auto& [at, step] : borders) {
        if (inside == 0 || inside + step == 0) changes.push_back(at);
        inside += step;
    }
    return fromChanges(size, changes);
}

double overlap(const RunLengths& found, const RunLengths& truth, bool crowd) {
    if (found.size != truth.size) return -1;
    int64_t both = 0, atFound = 0, atTruth = 0;
    for (size_t i = 0, j = 0; i < found.runs.size() && j < truth.runs.size();) {
        const int64_t endFound = atFound + found.runs[i], endTruth = atTruth + truth.runs[j];
        if (i % 2 == 1 && j % 2 == 1)
            both += std::max<int64_t>(0, std::min(endFound, endTruth) - std::max(atFound, atTruth));
        if (endFound <= endTruth) ++i, atFound = endFound;
        if (endTruth <= endFound) ++j, atTruth = endTruth;
    }
    if (both == 0) return 0;
    const int64_t all = crowd ? found.area() : found.area() + truth.area() - both;
    return static_cast<double>(both) / static_cast<double>(all);
}

}  // namespace mpm::pipeline
