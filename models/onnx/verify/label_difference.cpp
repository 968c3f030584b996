#include "models/onnx/verify/prove.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

// Computes the scores of the classes at a pixel with the formula of MpmMaskLabels.
class MaskScores {
public:
    MaskScores(const Tensor& masks, const Tensor& classes, cv::Size size)
        : m_masks(masks), m_queries(masks.dim(1)), m_classes(classes.dim(2) - 1), m_size(size) {
        m_shares.resize(static_cast<size_t>(elementCount({masks.dim(0), m_queries, m_classes})));
        for (int64_t row = 0; row < masks.dim(0) * m_queries; ++row) {
            const float* logits = classes.f() + row * (m_classes + 1);
            const float most = *std::max_element(logits, logits + m_classes + 1);
            double sum = 0;
            for (int64_t c = 0; c <= m_classes; ++c)
                sum += std::exp(double{logits[c]} - most);
            for (int64_t c = 0; c < m_classes; ++c)
                m_shares[row * m_classes + c] = std::exp(double{logits[c]} - most) / sum;
        }
    }

    const List<double>& at(int64_t image, int y, int x) {
        m_sums.assign(m_classes, 0);
        for (int64_t q = 0; q < m_queries; ++q) {
            const double inside = 1 / (1 + std::exp(-maskAt(image * m_queries + q, y, x)));
            const double* shares = &m_shares[(image * m_queries + q) * m_classes];
            for (int64_t c = 0; c < m_classes; ++c)
                m_sums[c] += inside * shares[c];
        }
        return m_sums;
    }

private:
    struct Place {
        int64_t low, high;
        double share;
    };

    static Place placeOf(int at, int to, int64_t from) {
        const double position = std::max(0.0, (at + 0.5) * static_cast<double>(from) / to - 0.5);
        const int64_t low = std::min(static_cast<int64_t>(position), from - 1);
        return {low, std::min(low + 1, from - 1), position - static_cast<double>(low)};
    }

    double maskAt(int64_t plane, int y, int x) const {
        const int64_t rows = m_masks.dim(2), columns = m_masks.dim(3);
        const Place v = placeOf(y, m_size.height, rows), h = placeOf(x, m_size.width, columns);
        const float* mask = m_masks.f() + plane * rows * columns;
        const auto along = [&](int64_t row) {
            return (1 - h.share) * mask[row * columns + h.low] + h.share * mask[row * columns + h.high];
        };
        return (1 - v.share) * along(v.low) + v.share * along(v.high);
    }

    const Tensor& m_masks;
    const int64_t m_queries, m_classes;
    const cv::Size m_size;
    List<double> m_shares, m_sums;
};

}  // namespace

double valueOf(const cv::Mat& m, size_t k) {
    if (m.depth() == CV_32F) return m.ptr<float>()[k];
    if (m.elemSize() != sizeof(int64_t)) throw Refusal("OpenCV computes outputs of an unknown type");
    return static_cast<double>(reinterpret_cast<const int64_t*>(m.data)[k]);
}

double labelDifference(const Tensor& scores, const cv::Mat& labels) {
    const int64_t batch = scores.dim(0), classes = scores.dim(1),
                  pixels = elementCount({scores.dim(2), scores.dim(3)});
    if (scores.rank() != 4 || labels.total() != checkedProduct<size_t>(batch, pixels))
        throw Refusal("the conversion cannot be proved: the labels have another size than the image");
    double worst = 0, largest = 0;
    for (int64_t k = 0; k < batch * pixels; ++k) {
        const float* column = scores.f() + k / pixels * classes * pixels + k % pixels;
        float best = -INFINITY;
        for (int64_t c = 0; c < classes; ++c) {
            best = std::max(best, column[c * pixels]);
            largest = std::max<double>(largest, std::abs(column[c * pixels]));
        }
        const int64_t label = toInteger(valueOf(labels, k));
        worst =
            std::max<double>(worst, label < 0 || label >= classes ? INFINITY : best - column[label * pixels]);
    }
    return largest > 0 ? worst / largest : worst;
}

double maskLabelDifference(const Tensor& masks, const Tensor& classes, const cv::Mat& labels) {
    constexpr double kMostProducts = 1e9;
    if (labels.dims != 4 || labels.size[0] != masks.dim(0) || labels.size[1] != 1)
        throw Refusal("the conversion cannot be proved: the labels have another size than the image");
    const cv::Size size(labels.size[3], labels.size[2]);
    const double products = static_cast<double>(labels.total()) * masks.dim(1) * classes.dim(2);
    const int step = std::max(1, static_cast<int>(std::min(products / kMostProducts, 1e6)));
    MaskScores scores(masks, classes, size);
    double worst = 0, largest = 0;
    const auto rows = checkedProduct<int>(labels.size[0], size.height);
    for (int row = 0; row < rows; row += step) {
        checkTime();
        for (int x = 0; x < size.width; ++x) {
            const List<double>& sums = scores.at(row / size.height, row % size.height, x);
            const double best = *std::max_element(sums.begin(), sums.end());
            largest = std::max(largest, best);
            const int64_t label = toInteger(valueOf(labels, static_cast<size_t>(row) * size.width + x));
            const bool valid = label >= 0 && label < static_cast<int64_t>(sums.size());
            worst = std::max(worst, valid ? best - sums[label] : INFINITY);
        }
    }
    return largest > 0 ? worst / largest : worst;
}

}  // namespace mpm::models
