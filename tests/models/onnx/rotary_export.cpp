#include "rotary_export.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::test::rotary {

using models::Attribute;
using models::List;
using models::Rope;
using models::Shape;
using models::Tensor;

namespace {

constexpr int kQuarter = kHeadSize / 4;

List<float> frequenciesOf(const Rotary& r) {
    List<float> frequencies;
    for (int k = 0; k < kQuarter; ++k) {
        const float period = std::pow(r.base, static_cast<float>(k) / kQuarter) / r.first;
        frequencies.push_back(r.sign / (r.roundPeriod ? r.roundPeriod(period) : period));
    }
    return frequencies;
}

// Returns the angles of each token. A head has an angle for each pair of components: first the angles along
// an axis, then the angles along the other axis.
List<float> anglesOf(const Rotary& r, cv::Size grid) {
    const List<float> frequencies = frequenciesOf(r);
    List<float> angles;
    for (int row = 0; row < grid.height; ++row) {
        for (int column = 0; column < grid.width; ++column) {
            for (bool second : {false, true}) {
                const float at = second != r.columnsFirst ? r.coordinate(column, grid.width, grid.height)
                                                          : r.coordinate(row, grid.height, grid.width);
                for (float frequency : frequencies)
                    angles.push_back(at * frequency);
            }
        }
    }
    return angles;
}

// Repeats the angle of each pair for both components of the pair, in the order of a head's components.
Tensor spread(const Rotary& r, const List<float>& pairs) {
    const int half = kHeadSize / 2;
    const int64_t tokens = static_cast<int64_t>(pairs.size()) / half;
    Tensor all = Tensor::floats({tokens, kHeadSize});
    for (int64_t t = 0; t < tokens; ++t)
        for (int c = 0; c < kHeadSize; ++c)
            all.writeF()[t * kHeadSize + c] = pairs[t * half + (r.interleaved ? c / 2 : c % half)];
    return all;
}

Tensor tableOf(const Rotary& r, const Tensor& angles, float (*function)(float)) {
    Tensor table = Tensor::floats(angles.shape());
    for (int64_t k = 0; k < table.size(); ++k) {
        const float value = function(angles.f()[k]);
        table.writeF()[k] = r.roundTable ? r.roundTable(value) : value;
    }
    return table;
}

struct Tables {
    int cos, sin;  // ids of values in the graph
};

class Rotation {
public:
    /// The first `front` tokens, before the image tokens, are not rotated.
    Rotation(SmallExport& model, const Rotary& r, cv::Size grid, int64_t front = 1)
        : m_g(model.builder()),
          m_r(r),
          m_grid(grid),
          m_still(r.withSpecial ? front : 0),
          m_special(front - m_still) {}

    Tables constants(const Edit& edit) {
        List<float> pairs(m_still * kHeadSize / 2, 0.f);
        const List<float> image = anglesOf(m_r, m_grid);
        pairs.insert(pairs.end(), image.begin(), image.end());
        const Tensor angles = spread(m_r, pairs);
        Tensor cos = tableOf(m_r, angles, std::cos), sin = tableOf(m_r, angles, std::sin);
        if (edit) edit(cos, sin);
        return {m_g.constant(cos), m_g.constant(sin)};
    }

    Tables nodes() {
        const int shape = m_g.node("Shape", {m_g.graph().inputs[0].value});
        const int patch = m_g.ints({SmallExport::kPatch});
        const int rows = m_g.node("Div", {gathered(shape, 2), patch}),
                  columns = m_g.node("Div", {gathered(shape, 3), patch});
        const int size = join({rows, columns, m_g.ints({kQuarter})}, 0);
        const int y = m_g.node("Expand", {along(rows, {1, 2}), size}),
                  x = m_g.node("Expand", {along(columns, {0, 2}), size});
        const int half = m_g.node("Reshape", {join({y, x}, 2), m_g.ints({-1, kHeadSize / 2})});
        const int angles = join({half, half}, 1);
        return {m_g.node("Cos", {angles}), m_g.node("Sin", {angles})};
    }

    int apply(int heads, const Tables& tables) {
        const int part = m_special ? slice(heads, 2, m_special, INT32_MAX) : heads;
        const int both = m_g.node(
            "Add", {m_g.node("Mul", {part, tables.cos}), m_g.node("Mul", {turned(part), tables.sin})});
        return m_special ? join({slice(heads, 2, 0, m_special), both}, 2) : both;
    }

private:
    int slice(int x, int64_t axis, int64_t first, int64_t end, int64_t step = 1) {
        return m_g.node("Slice", {x, m_g.ints({first}), m_g.ints({end}), m_g.ints({axis}), m_g.ints({step})});
    }

    int join(const List<int>& parts, int64_t axis) {
        const int all = m_g.node("Concat", parts);
        m_g.with("axis", Attribute::of(axis));
        return all;
    }

    int gathered(int shape, int64_t k) { return m_g.node("Gather", {shape, m_g.ints({k})}); }

    // Computes DINOv3's angles along an axis: [length, frequencies], with axes of size 1 added at `others`.
    int along(int length, const List<int64_t>& others) {
        const auto scalar = [&](int64_t k) { return m_g.constant(Tensor::ints({}, k)); };
        const auto real = [&](int value) {
            const int cast = m_g.node("Cast", {value});
            m_g.with("to", Attribute::of(int64_t{1}));
            return cast;
        };
        const int end = m_g.node("Squeeze", {length, m_g.ints({0})});
        const int index = real(m_g.node("Range", {scalar(0), end, scalar(1)}));
        const int share = m_g.node("Div", {m_g.node("Add", {index, m_g.number(0.5f)}), real(length)});
        const int at = m_g.node("Sub", {m_g.node("Mul", {share, m_g.number(2)}), m_g.number(1)});
        const int frequencies = m_g.constant(Tensor::floats({1, 1, kQuarter}, frequenciesOf(m_r)));
        return m_g.node("Mul", {m_g.node("Unsqueeze", {at, m_g.ints(others)}), frequencies});
    }

    int turned(int x) {
        if (!m_r.interleaved) {
            const int back = m_g.node("Neg", {slice(x, 3, kHeadSize / 2, kHeadSize)});
            return join({back, slice(x, 3, 0, kHeadSize / 2)}, 3);
        }
        const int odd = m_g.node("Neg", {slice(x, 3, 1, INT32_MAX, 2)}), even = slice(x, 3, 0, INT32_MAX, 2);
        const int pairs = join(
            {m_g.node("Unsqueeze", {odd, m_g.ints({4})}), m_g.node("Unsqueeze", {even, m_g.ints({4})})}, 4);
        const int64_t tokens = m_grid.area() + m_still;
        return m_g.node("Reshape", {pairs, m_g.ints({1, SmallExport::kHeads, tokens, kHeadSize})});
    }

    models::GraphBuilder& m_g;
    const Rotary& m_r;
    const cv::Size m_grid;
    const int64_t m_still;    // rows of angle 0 in the tables
    const int64_t m_special;  // number of first tokens without rows in the tables
};

}  // namespace

float byOwnAxis(int i, int length, int) {
    return 2 * ((static_cast<float>(i) + 0.5f) / static_cast<float>(length)) - 1;
}

float byLongerAxis(int i, int length, int other) {
    return byOwnAxis(i, std::max(length, other), 0);
}

float byShorterAxis(int i, int length, int other) {
    return byOwnAxis(i, std::min(length, other), 0);
}

float byIndex(int i, int, int) {
    return static_cast<float>(i);
}

float byIndexFromOne(int i, int, int) {
    return static_cast<float>(i) + 1;
}

Coordinate scaledTo(int reference, int offset) {
    return [=](int i, int length, int) {
        return static_cast<float>(i + offset) / static_cast<float>(length) * static_cast<float>(reference);
    };
}

Rope ropeOn(const Rotary& r, cv::Size grid) {
    const Tensor angles = spread(r, anglesOf(r, grid));
    const Shape shape{1, grid.area(), kHeadSize};
    return {tableOf(r, angles, std::cos).reshaped(shape), tableOf(r, angles, std::sin).reshaped(shape),
            r.interleaved};
}

namespace {

int blocks(SmallExport& model, const List<Rotary>& byBlock, cv::Size grid, const Edit& edit, int x) {
    for (int k = 0; k < 4; ++k) {
        const Rotary& r = byBlock[k % static_cast<int>(byBlock.size())];
        Rotation rotation(model, r, grid);
        const Tables tables = r.inGraph ? rotation.nodes() : rotation.constants(edit);
        model.rotate([&](int heads) { return rotation.apply(heads, tables); });
        x = model.block(x);
    }
    return x;
}

}  // namespace

models::Graph rotaryExport(const List<Rotary>& byBlock, cv::Size grid, const Edit& edit) {
    SmallExport model(1, grid);
    model.finish(blocks(model, byBlock, grid, edit, model.features()));
    return model.graph();
}

models::Graph decodedExport(const Rotary& r, cv::Size grid) {
    constexpr int kQueries = 3;
    SmallExport model(1, grid);
    const int x = model.norm(blocks(model, {r}, grid, {}, model.features()));
    int y = model.linear(x, SmallExport::kDim, SmallExport::kDim);
    y = model.joined({model.queries(kQueries), y});
    Rotation rotation(model, r, grid, kQueries + 1);
    const Tables tables = rotation.constants({});
    model.rotate([&](int heads) { return rotation.apply(heads, tables); });
    for (int k = 0; k < 2; ++k)
        y = model.block(y);
    model.finish(y);
    return model.graph();
}

}  // namespace mpm::test::rotary
