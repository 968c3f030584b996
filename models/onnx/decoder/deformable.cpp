#include "models/onnx/decoder/axes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

constexpr double kTolerance = 1e-5;

const Axes kMapAxes{{kImage, kHead}, {kChannel}, {kRow}, {kColumn}};
const Axes kGridAxes{{kImage, kHead}, {kQuery}, {kPoint}, {kCoordinate}};
const Axes kSampledAxes{{kImage, kHead}, {kChannel}, {kQuery}, {kPoint}};

struct Level {
    const Node* node = nullptr;
    int64_t rows = 0, columns = 0, first = 0;
    int value = kAbsent, offsets = kAbsent;
    List<float> reference;  ///< [queries, x and y]
};

class DeformableMatch {
public:
    DeformableMatch(const Graph& graph, const Inferred& inferred, const Rewriter& rewriter)
        : m_graph(graph), m_inferred(inferred), m_rewriter(rewriter) {}

    /// Matches deformable attention that ends in `sum`, a ReduceSum over the samples.
    bool match(const Node& sum) {
        const Node* product = reducesLastAxis(m_inferred, sum) ? m_graph.nodeOf(sum.inputs[0]) : nullptr;
        if (!product || !product->is("Mul")) return false;
        for (size_t k : {0, 1}) {
            const int samples = product->inputs[k], weights = product->inputs[1 - k];
            if (findLevels(samples, product->outputs[0]) && findLogits(weights, product->outputs[0]) &&
                std::all_of(m_levels.begin(), m_levels.end(),
                            [&](Level& level) { return followLevel(level); }))
                return levelsFit() && findOutput(sum);
        }
        return false;
    }

    /// Matches `op`, the operator of mmdeploy. Inputs: value [image, position, head, channel], sizes, starts,
    /// places [image, query, head, level, point, x and y] as fractions of a level, weights [image, query,
    /// head, level, point].
    bool matchOperator(const Node& op) {
        if (op.inputs.size() != 5 || op.outputs.empty()) return false;
        const Shape &value = shapeOf(op.inputs[0]), &places = shapeOf(op.inputs[3]);
        const Tensor& sizes = of(op.inputs[1]);
        if (value.size() != 4 || places.size() != 6 || !sizes.known() || sizes.size() != 2 * places[3])
            return false;
        m_extents = {{kImage, value[0]},  {kHead, value[2]}, {kQuery, places[1]},  {kLevel, places[3]},
                     {kPoint, places[4]}, {kCoordinate, 2},  {kChannel, value[3]}, {kRow, value[1]}};
        AxisLayout weights(op.inputs[4], {{kImage}, {kQuery}, {kHead}, {kLevel}, {kPoint}}, m_extents);
        AxisLayout map(op.inputs[0], {{kImage}, {kRow}, {kHead}, {kChannel}}, m_extents);
        const int rows = sourceOf(map, {{kImage}, {kRow}, {kHead, kChannel}});
        if (rows == kAbsent || !findLogits(weights)) return false;
        int64_t first = 0;
        for (int64_t k = 0; k < places[3]; ++k) {
            Level level;
            level.node = &op;
            level.rows = toInteger(sizes.at(2 * k));
            level.columns = toInteger(sizes.at(2 * k + 1));
            level.first = first;
            level.value = rows;
            first = checkedSum<int64_t>(first, elementCount({level.rows, level.columns}));
            m_levels.push_back(level);
        }
        for (Level& level : m_levels) {
            AxisLayout at(op.inputs[3], {{kImage}, {kQuery}, {kHead}, {kLevel}, {kPoint}, {kCoordinate}},
                          m_extents);
            at.pin(kLevel, &level - m_levels.data());
            if (!followGrid(level, at, 2, -1)) return false;
        }
        m_output = op.outputs[0];
        return levelsFit();
    }

    Node node(Graph& graph) const {
        List<int64_t> sizes;
        for (const Level& level : m_levels)
            sizes.insert(sizes.end(), {level.rows, level.columns});
        const Level& first = m_levels[0];
        Node node{"MpmDeformable", "mpm", first.node->name, {}, {m_output}, {}};
        node.inputs = {first.value, first.offsets, m_logits, reference(graph)};
        node.set("heads", m_extents.at(kHead)).set("points", m_extents.at(kPoint)).set("levels", sizes);
        return node;
    }

private:
    const Tensor& of(int value) const { return m_inferred.values[value]; }
    const Shape& shapeOf(int value) const { return of(value).shape(); }

    // Finds the GridSamples that give `samples`. `product` must be [image * head, channel, query, level *
    // point].
    bool findLevels(int samples, int product) {
        m_levels.clear();
        const Shape& shape = shapeOf(product);
        const int source = firstOf(samples);
        if (shape.size() != 4 || source == kAbsent || shapeOf(samples) != shape) return false;
        const Node* from = m_graph.nodeOf(source);
        const Node* first = from && from->is("Concat") ? m_graph.nodeOf(firstOf(from->inputs[0])) : from;
        if (!first || !first->is("GridSample") || !setExtents(*first, from, shape)) return false;
        AxisLayout at(samples, {{kImage, kHead}, {kChannel}, {kQuery}, {kLevel, kPoint}}, m_extents);
        while (at.value() != source)
            if (!at.back(m_graph, m_inferred)) return false;
        if (from == first) return addLevel(at);
        for (size_t k = 0; k < from->inputs.size(); ++k) {
            AxisLayout part = at;
            const bool joined = from->inputs.size() == 1 || part.enterConcat(m_inferred, *from, k, kLevel);
            if (from->inputs.size() == 1) part.enter(m_inferred, from->inputs[0]);
            if (!joined || !addLevel(part)) return false;
        }
        return true;
    }

    // Follows the first input of each node back, but not beyond a Concat or GridSample.
    int firstOf(int value) const {
        for (int steps = 0; steps < 64; ++steps) {
            const Node* node = m_graph.nodeOf(value);
            if (!node || node->is("Concat") || node->is("GridSample") || node->inputs.empty()) return value;
            value = node->inputs[0];
            if (value == kAbsent) return kAbsent;
        }
        return kAbsent;
    }

    bool setExtents(const Node& sample, const Node* joint, const Shape& product) {
        const Shape &map = shapeOf(sample.inputs[0]), &grid = shapeOf(sample.inputs[1]);
        const int64_t images = shapeOf(m_graph.inputs[0].value)[0];
        if (map.size() != 4 || grid.size() != 4 || images < 1 || map[0] % images) return false;
        const auto levels = static_cast<int64_t>(joint->is("Concat") ? joint->inputs.size() : 1);
        m_extents = {{kImage, images},  {kHead, map[0] / images}, {kQuery, grid[1]}, {kLevel, levels},
                     {kPoint, grid[2]}, {kCoordinate, 2},         {kChannel, map[1]}};
        return product == Shape{map[0], map[1], grid[1], checkedProduct<int64_t>(levels, grid[2])};
    }

    bool addLevel(AxisLayout at) {
        while (at.back(m_graph, m_inferred)) {
        }
        const Node* node = m_graph.nodeOf(at.value());
        if (!node || !node->is("GridSample") || !at.is(kSampledAxes)) return false;
        const std::string mode = node->getString("mode", "bilinear");
        if ((mode != "bilinear" && mode != "linear") || node->getString("padding_mode", "zeros") != "zeros" ||
            node->getInt("align_corners", 0) != 0)
            return false;
        const Shape& map = shapeOf(node->inputs[0]);
        if (map.size() != 4 || map[0] != shapeOf(node->inputs[1])[0]) return false;
        Level level;
        level.node = node;
        level.rows = map[2];
        level.columns = map[3];
        m_levels.push_back(level);
        return true;
    }

    bool findLogits(int weights, int product) {
        AxisLayout at(product, {{kImage, kHead}, {kChannel}, {kQuery}, {kLevel, kPoint}}, m_extents);
        if (of(weights).rank() != 4) return false;
        at.enter(m_inferred, weights);
        return findLogits(at);
    }

    // Finds the logits [image, query, head * level * point]. The weights are the softmax of the logits over
    // levels and points.
    bool findLogits(AxisLayout& at) {
        const Node* node = nullptr;
        for (node = m_graph.nodeOf(at.value()); node && !node->is("Softmax");
             node = m_graph.nodeOf(at.value())) {
            if (!at.back(m_graph, m_inferred)) return false;
        }
        if (!node) return false;
        const int64_t rank = of(at.value()).rank(), axis = node->getInt("axis", -1);
        if ((axis != -1 && axis != rank - 1) || rank < 2) return false;
        // The length of the last axis must be the number of samples (levels x points) of a query in a head.
        if (shapeOf(at.value()).back() != checkedProduct<int64_t>(m_extents[kLevel], m_extents[kPoint]))
            return false;
        at.enter(m_inferred, node->inputs[0]);
        m_logits = sourceOf(at, {{kImage}, {kQuery}, {kHead, kLevel, kPoint}});
        return m_logits != kAbsent;
    }

    // Goes back to the nearest value with the axes `axes`, and returns it; kAbsent if there is none.
    int sourceOf(AxisLayout& at, const Axes& axes) const {
        do {
            const bool fits = of(at.value()).rank() == static_cast<int>(axes.size()) && at.is(axes);
            if (fits) return at.value();
        } while (at.back(m_graph, m_inferred));
        return kAbsent;
    }

    bool followLevel(Level& level) {
        Extents extents = m_extents;
        extents[kRow] = level.rows;
        extents[kColumn] = level.columns;
        AxisLayout map(level.node->inputs[0], kMapAxes, extents);
        // Goes back as far as possible: the first match may be the slice of a single level, the last match is
        // the value of all levels.
        do {
            const bool matrix = of(map.value()).rank() == 3;
            const bool fits = matrix && (map.is({{kImage}, {kRow, kColumn}, {kHead, kChannel}}) ||
                                         map.is({{kImage}, {kRow}, {kHead, kChannel}}));
            if (!fits) continue;
            level.value = map.value();
            level.first = map.first(kRow);
        } while (map.back(m_graph, m_inferred));
        return level.value != kAbsent &&
               followGrid(level, AxisLayout(level.node->inputs[1], kGridAxes, m_extents));
    }

    // Matches grid = scale * (reference + factor * offset) + shift.
    bool followGrid(Level& level, AxisLayout at, double scale = 1, double shift = 0) {
        for (int steps = 0; steps < 64; ++steps) {
            if (at.back(m_graph, m_inferred)) continue;
            const Node* node = m_graph.nodeOf(at.value());
            if (!node || node->inputs.size() != 2 || !node->domain.empty()) return false;
            const size_t known = of(node->inputs[1]).known() ? 1 : 0;
            const int constant = node->inputs[known], other = node->inputs[1 - known];
            if (!of(constant).known() || of(other).rank() != of(at.value()).rank()) return false;
            if (of(constant).size() > 1)
                return node->is("Add") && followOffsets(level, at, constant, other, scale, shift);
            const double number = of(constant).at(0);
            if (node->is("Mul")) {
                scale *= number;
            } else if (node->is("Add")) {
                shift += scale * number;
            } else if (node->is("Sub") && known == 1) {
                shift -= scale * number;
            } else if (node->is("Div") && known == 1) {
                scale /= number;
            } else {
                return false;
            }
            at.enter(m_inferred, other);
        }
        return false;
    }

    // Follows reference + factor * offset. The reference must be in fractions of the map, offsets in pixels.
    bool followOffsets(Level& level, AxisLayout at, int reference, int offsets, double scale, double shift) {
        if (!readReference(level, at, reference, scale, shift)) return false;
        at.enter(m_inferred, offsets);
        double factor[] = {scale * static_cast<double>(level.columns) / 2,
                           scale * static_cast<double>(level.rows) / 2};
        const Axes axes{{kImage}, {kQuery}, {kHead, kLevel, kPoint, kCoordinate}};
        for (int steps = 0; steps < 64; ++steps) {
            if (of(at.value()).rank() == 3 && at.is(axes)) break;
            if (at.back(m_graph, m_inferred)) continue;
            if (!divide(at, factor)) return false;
        }
        const auto index = static_cast<int64_t>(&level - m_levels.data());
        level.offsets = at.value();
        return at.is(axes) && (m_levels.size() == 1 || at.first(kLevel) == index) &&
               std::abs(factor[0] - 1) < kTolerance && std::abs(factor[1] - 1) < kTolerance;
    }

    // Matches x * c or x / c with a constant c that depends only on level and coordinate. Moves to x, and
    // multiplies `factor` by c or 1 / c.
    bool divide(AxisLayout& at, double (&factor)[2]) const {
        const Node* node = m_graph.nodeOf(at.value());
        if (!node || node->inputs.size() != 2 || !(node->is("Div") || node->is("Mul"))) return false;
        const size_t known = node->is("Mul") && of(node->inputs[0]).known() ? 0 : 1;
        const int constant = node->inputs[known], other = node->inputs[1 - known];
        if (!of(constant).known() || of(other).rank() != of(at.value()).rank()) return false;
        for (int part : {kImage, kHead, kQuery, kPoint})
            if (at.dependsOn(shapeOf(constant), part)) return false;
        for (int k : {0, 1}) {
            const double number = of(constant).at(
                at.elementAt(shapeOf(constant), {{kCoordinate, k}, {kLevel, at.first(kLevel)}}));
            factor[k] *= node->is("Mul") ? number : 1 / number;
        }
        at.enter(m_inferred, other);
        return true;
    }

    // Reads the reference points of a level. Returns false if the points depend on image, head or point.
    bool readReference(Level& level, const AxisLayout& at, int reference, double scale, double shift) const {
        const Tensor& t = of(reference);
        for (int part : {kHead, kPoint})
            if (at.dependsOn(t.shape(), part)) return false;
        for (int64_t q = 0; q < m_extents.at(kQuery); ++q) {
            for (int64_t k : {0, 1}) {
                const auto number = [&](int64_t image) {
                    return t.at(at.elementAt(
                        t.shape(),
                        {{kImage, image}, {kQuery, q}, {kCoordinate, k}, {kLevel, at.first(kLevel)}}));
                };
                for (int64_t image = 1; image < m_extents.at(kImage); ++image)
                    if (number(image) != number(0)) return false;
                level.reference.push_back(static_cast<float>((scale * number(0) + shift + 1) / 2));
            }
        }
        return true;
    }

    // Returns whether the levels are consecutive parts of the same value and together fill it.
    bool levelsFit() const {
        int64_t positions = 0;
        for (const Level& level : m_levels) {
            if (level.value != m_levels[0].value || level.offsets != m_levels[0].offsets ||
                level.first != positions)
                return false;
            positions = checkedSum<int64_t>(positions, elementCount({level.rows, level.columns}));
        }
        return positions == shapeOf(m_levels[0].value)[1];
    }

    bool findOutput(const Node& sum) {
        AxisLayout at(sum.outputs[0], {{kImage, kHead}, {kChannel}, {kQuery}}, m_extents);
        const Axes axes{{kImage}, {kQuery}, {kHead, kChannel}};
        for (int steps = 0; steps < 16; ++steps) {
            if (of(at.value()).rank() == 3 && at.is(axes)) {
                m_output = at.value();
                return true;
            }
            const int user = m_rewriter.soleUser(at.value());
            if (user == kAbsent || !at.forward(m_inferred, m_graph.nodes[user])) return false;
        }
        return false;
    }

    // Adds the reference points as a constant [1, queries, L, x and y]; L = 1 if levels have equal points.
    int reference(Graph& graph) const {
        const bool alike = std::all_of(m_levels.begin(), m_levels.end(), [&](const Level& level) {
            return level.reference == m_levels[0].reference;
        });
        const size_t levels = alike ? 1 : m_levels.size();
        const int64_t queries = m_extents.at(kQuery);
        List<float> values;
        for (int64_t q = 0; q < queries; ++q)
            for (size_t l = 0; l < levels; ++l)
                for (int64_t k : {0, 1})
                    values.push_back(m_levels[l].reference[2 * q + k]);
        return graph.addConstant("reference",
                                 Tensor::floats({1, queries, static_cast<int64_t>(levels), 2}, values));
    }

    const Graph& m_graph;
    const Inferred& m_inferred;
    const Rewriter& m_rewriter;
    Extents m_extents;
    List<Level> m_levels;
    int m_logits = kAbsent, m_output = kAbsent;
};

}  // namespace

int fuseDeformables(Graph& graph, const Inferred& inferred) {
    const Rewriter rewriter(graph);
    List<Node> fused;
    for (const Node& node : graph.nodes) {
        const bool custom = node.domain == "mmdeploy" && node.op == "MMCVMultiScaleDeformableAttention";
        if (!custom && !node.is("ReduceSum")) continue;
        checkTime();
        DeformableMatch match(graph, inferred, rewriter);
        if (custom ? match.matchOperator(node) : match.match(node)) fused.push_back(match.node(graph));
    }
    for (const Node& node : fused) {
        graph.release(node.outputs[0]);
        graph.nodes.push_back(node);
    }
    if (fused.empty()) return 0;
    graph.arrange();
    return static_cast<int>(fused.size());
}

}  // namespace mpm::models
