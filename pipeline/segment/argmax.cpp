#include "pipeline/segment/segmenter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/loops.hpp"

namespace mpm::pipeline {

namespace {

/// Linear interpolation from a line of `from` pixels to a line of `size` pixels. Each result pixel has two
/// source pixels, `low` and `high`, and the weight of `high`.
struct Taps {
    std::vector<int> low, high;
    std::vector<float> weight;

    Taps(int from, int size) : low(size), high(size), weight(size) {
        for (int i = 0; i < size; ++i) {
            const double at = std::clamp((i + 0.5) * from / size - 0.5, 0.0, from - 1.0);
            low[i] = static_cast<int>(at);
            high[i] = std::min(low[i] + 1, from - 1);
            weight[i] = static_cast<float>(at - low[i]);
        }
    }
};

/// Logits: one plane for each class.
struct Logits {
    const float* data;
    int classes, rows, cols;
    const float* row(int c, int y) const { return data + (std::size_t(c) * rows + y) * cols; }
};

// The loops below take most of the time, so the loops use plain pointers: _GLIBCXX_ASSERTIONS makes a vector
// check each index.

/// to = above + (below - above) * weight
void mix(const float* above, const float* below, float weight, int count, float* to) {
    for (int x = 0; x < count; ++x)
        to[x] = above[x] + (below[x] - above[x]) * weight;
}

void mixNeighbours(const float* from, const Taps& taps, float* to) {
    const int *low = taps.low.data(), *high = taps.high.data();
    const float* weight = taps.weight.data();
    const size_t count = taps.low.size();
    for (size_t x = 0; x < count; ++x) {
        const float left = from[low[x]];
        to[x] = left + (from[high[x]] - left) * weight[x];
    }
}

/// Keeps the larger value in `best` and its class in `id`; `values` are of the class `own`. Ties keep `id`.
void keepLarger(const float* values, int own, size_t count, float* best, int* id) {
    for (size_t x = 0; x < count; ++x) {
        id[x] = values[x] > best[x] ? own : id[x];
        best[x] = std::max(values[x], best[x]);
    }
}

/// Returns the distance between pixels that get a score, across and down; 0 if no pixel gets a score.
int stepOf(Scores scores) {
    constexpr int kCoarse = 4;
    return scores == Scores::None ? 0 : scores == Scores::All ? 1 : kCoarse;
}

/// Computes the labels line by line. Stretches the logits of each class into `m_line`, and compares them with
/// the largest logits of the earlier classes.
class LineMaker {
public:
    /// `step`: distance between pixels that get a score
    LineMaker(const Logits& logits, const Taps& across, const Taps& down, int step)
        : m_logits(logits), m_across(across), m_down(down), m_between(logits.cols), m_step(step) {
        const size_t width = across.low.size();
        m_line.resize(width), m_best.resize(width), m_sum.resize(width), m_id.resize(width);
    }

    void make(int y) {
        std::fill(m_best.begin(), m_best.end(), -std::numeric_limits<float>::infinity());
        std::fill(m_id.begin(), m_id.end(), 0);
        for (int c = 0; c < m_logits.classes; ++c) {
            stretch(c, y);
            keepLarger(m_line.data(), c, m_line.size(), m_best.data(), m_id.data());
        }
        if (hasScores(y)) sumExponentials(y);
    }

    bool hasScores(int y) const { return m_step > 0 && y % m_step == 0; }
    int id(int x) const { return m_id[x]; }
    float score(int x) const { return 1 / m_sum[x]; }

private:
    void stretch(int c, int y) {
        mix(m_logits.row(c, m_down.low[y]), m_logits.row(c, m_down.high[y]), m_down.weight[y], m_logits.cols,
            m_between.data());
        mixNeighbours(m_between.data(), m_across, m_line.data());
    }

    void sumExponentials(int y) {
        std::fill(m_sum.begin(), m_sum.end(), 0.f);
        for (int c = 0; c < m_logits.classes; ++c) {
            stretch(c, y);
            for (size_t x = 0; x < m_line.size(); x += static_cast<size_t>(m_step))
                m_sum[x] += std::exp(m_line[x] - m_best[x]);
        }
    }

    Logits m_logits;
    const Taps& m_across;
    const Taps& m_down;
    std::vector<float> m_between, m_line, m_best, m_sum;
    std::vector<int> m_id;
    int m_step;
};

}  // namespace

Labels argmaxStretched(const cv::Mat& logits, cv::Size size, Scores scores) {
    CV_CheckTypeEQ(logits.type(), CV_32F, "logits: expected 32-bit floats");
    CV_Check(logits.dims, logits.dims == 3 || (logits.dims == 4 && logits.size[0] == 1),
             "logits: expected 1xCxHxW or CxHxW");
    CV_Check(size.area(), !size.empty(), "size: expected at least one pixel");
    CV_Assert(logits.isContinuous() && logits.total() > 0);
    const int first = logits.dims - 3;
    const Logits source{logits.ptr<float>(), logits.size[first], logits.size[first + 1],
                        logits.size[first + 2]};
    const Taps across(source.cols, size.width), down(source.rows, size.height);
    Labels labels;
    labels.ids.create(size, source.classes <= 256 ? CV_8U : CV_16U);
    const int step = stepOf(scores);
    if (step > 0) labels.scores.create((size.height - 1) / step + 1, (size.width - 1) / step + 1, CV_32F);
    parallelRanges(size.height, [&](const cv::Range& rows) {
        LineMaker maker(source, across, down, step);
        for (int y = rows.start; y < rows.end; ++y) {
            maker.make(y);
            for (int x = 0; x < size.width; ++x) {
                if (labels.ids.depth() == CV_8U)
                    labels.ids.at<uchar>(y, x) = static_cast<uchar>(maker.id(x));
                else
                    labels.ids.at<ushort>(y, x) = static_cast<ushort>(maker.id(x));
            }
            for (int x = 0; maker.hasScores(y) && x < size.width; x += step)
                labels.scores.at<float>(y / step, x / step) = maker.score(x);
        }
    });
    return labels;
}

}  // namespace mpm::pipeline
