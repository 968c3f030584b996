#include "mpm_layer/dnn/decoder_layers.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/cpu/column_products.hpp"
#include "mpm_layer/dnn/attributes.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::dnn {
namespace {

// The leading axes of both operands, and the steps from matrix to matrix along each axis.
struct Batches {
    std::vector<int> lead;
    std::vector<size_t> stepsA, stepsB;  // counted in matrices
    size_t matricesA = 1, matricesB = 1;

    Batches(const Sizes& a, const Sizes& b) {
        const size_t rank = std::max(a.size(), b.size());
        lead.assign(rank - 2, 1);
        stepsA.assign(rank - 2, 0);
        stepsB.assign(rank - 2, 0);
        for (size_t k = 3; k <= rank; ++k) {
            const int x = k <= a.size() ? a[a.size() - k] : 1, y = k <= b.size() ? b[b.size() - k] : 1;
            const int larger = std::max(x, y);
            if (x < 1 || y < 1 || larger % x || larger % y) {
                CV_Error(cv::Error::StsUnmatchedSizes, "mpm: MpmMatMul cannot match the matrices of " +
                                                           textOf(toShape(a)) + " and " + textOf(toShape(b)));
            }
            const size_t at = rank - k;
            lead[at] = larger;
            if (x > 1) stepsA[at] = matricesA;
            if (y > 1) stepsB[at] = matricesB;
            m_extentA.insert(m_extentA.begin(), x);
            m_extentB.insert(m_extentB.begin(), y);
            matricesA *= x;
            matricesB *= y;
        }
    }

    size_t count() const { return checkedTotal<size_t>(lead); }

    // Returns the indices of the two matrices that product `index` multiplies. If an operand has fewer
    // matrices along an axis, its matrices repeat.
    std::pair<size_t, size_t> at(size_t index) const {
        size_t a = 0, b = 0;
        for (size_t k = lead.size(); k-- > 0;) {
            const size_t here = index % lead[k];
            index /= lead[k];
            a += here % m_extentA[k] * stepsA[k];
            b += here % m_extentB[k] * stepsB[k];
        }
        return {a, b};
    }

private:
    std::vector<int> m_extentA, m_extentB;
};

// Multiplies a few rows by many columns, such as queries by pixels. The columns are divided among the
// threads.
void multiplyColumns(const float* a, int rows, const float* b, int depth, int columns, Precision precision,
                     float* out) {
    kernels::Buffer memory;
    cpu::LeftRows left(memory, precision, rows, depth, std::nullopt, kernels::Finer::Right);
    for (int r = 0; r < rows; ++r)
        left.fill(r, [&](float* to) { std::copy_n(a + static_cast<size_t>(r) * depth, depth, to); });
    const cpu::ColumnOperand right{b, static_cast<size_t>(columns), depth, columns};
    parallelFor((columns + cpu::tileColumns() - 1) / cpu::tileColumns(), [&](int tile) {
        const auto store = [&](const cpu::ProductPiece& piece, const float* products) {
            for (int r = 0; r < piece.rows; ++r)
                std::copy_n(products + static_cast<size_t>(r) * piece.columns, piece.columns,
                            out + static_cast<size_t>(piece.row + r) * columns + piece.column);
        };
        cpu::multiplyTile(left, right, tile * cpu::tileColumns(), 1, store);
    });
}

}  // namespace

MatMulLayer::MatMulLayer(const cv::dnn::LayerParams& params)
    : SmallLayer(params, 2, 2), m_reversed(switchAttribute(params, "reversed")) {}

std::vector<Sizes> MatMulLayer::outputSizes(const std::vector<Sizes>& operands) const {
    const Sizes &a = operands[m_reversed ? 1 : 0], &b = operands[m_reversed ? 0 : 1];
    if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) {
        CV_Error(cv::Error::StsUnmatchedSizes, "mpm: MpmMatMul takes [..., M, K] and [..., K, N], got " +
                                                   textOf(toShape(a)) + " and " + textOf(toShape(b)));
    }
    Sizes sizes = Batches(a, b).lead;
    sizes.insert(sizes.end(), {a[a.size() - 2], b.back()});
    return {sizes};
}

int64 MatMulLayer::operations(const std::vector<Sizes>& operands, const Sizes& output) const {
    const Sizes& a = operands[m_reversed ? 1 : 0];
    return a.empty() ? 0 : checkedProduct<int64>(2, a.back(), checkedTotal<int64>(output));
}

void MatMulLayer::compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    cv::Mat a = operand(in, 0), b = operand(in, 1);
    if (m_reversed) std::swap(a, b);
    const Batches batches(sizesOf(a), sizesOf(b));
    const int rows = a.size[a.dims - 2], depth = a.size[a.dims - 1], columns = b.size[b.dims - 1];
    const size_t sizeA = static_cast<size_t>(rows) * depth, sizeB = static_cast<size_t>(depth) * columns;
    const size_t sizeC = static_cast<size_t>(rows) * columns, padded = kernels::paddedSize(rows, depth);
    if (depth == 0) {
        out[0].setTo(0);
        return;
    }
    const size_t count = batches.count();
    // If there is a single product for each image, computes the products one by one, each with all threads.
    if (count == 1 || count == network()->imagesBefore()) {
        const bool pairs = network()->precisionBefore() == Precision::BF16 ||
                           network()->precisionOfRows() == Precision::BF16;
        for (size_t k = 0; k < count; ++k) {
            const auto [ia, ib] = batches.at(k);
            const float *left = a.ptr<float>() + ia * sizeA, *right = b.ptr<float>() + ib * sizeB;
            float* const to = out[0].ptr<float>() + k * sizeC;
            if (columns > rows) {
                multiplyColumns(left, rows, right, depth, columns, pairs ? Precision::BF16 : Precision::F32,
                                to);
            } else {
                cpu::multiplyRows(left, rows, nullptr, cpu::Linear(right, depth, columns, {}, Precision::F32),
                                  kernels::Activation::None, to);
            }
        }
        return;
    }
    parallelRanges(checkedCast<int>(count), [&](const cv::Range& range) {
        kernels::Buffer left(padded);  // the product reads whole groups of rows
        std::fill_n(left.data(), padded, 0.f);
        for (int k = range.start; k < range.end; ++k) {
            const auto [ia, ib] = batches.at(k);
            std::copy_n(a.ptr<float>() + ia * sizeA, sizeA, left.data());
            const kernels::PackedWeights right(b.ptr<float>() + ib * sizeB, columns, depth, columns);
            kernels::product(left.data(), depth, rows, right, {}, out[0].ptr<float>() + k * sizeC, columns);
        }
    });
}

}  // namespace mpm::dnn
