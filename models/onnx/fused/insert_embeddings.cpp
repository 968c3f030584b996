#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"
#include "models/onnx/fused/insert.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/trace/trace.hpp"

namespace mpm::models {
namespace {

// In each image, row t of the result is table[t], plus row t - first + skipped of the source if
// 0 <= t - first < patches.
struct Embedding {
    int source = kAbsent;
    int64_t first = 0;
    int64_t skipped = 0;
    int64_t patches = 0;
    Tensor table;
};

class EmbeddingFinder {
public:
    /// `partly`: whether the embedding may leave out the first rows of a source [B, rows, D].
    EmbeddingFinder(const Graph& graph, const Shapes& shapes, int value, bool partly)
        : m_shapes(shapes), m_value(value), m_partly(partly) {
        m_traced = trace(graph, shapes.at, value);
    }

    bool find(Embedding& found) {
        const Shape& shape = m_shapes.of(m_value);
        if (!m_traced || m_traced->sources.size() != 1 || shape.size() != 3) return false;
        found.source = m_traced->sources[0];
        if (found.source == m_value) return false;
        m_tokens = shape[1];
        m_dim = shape[2];
        const Shape& source = m_shapes.of(found.source);
        m_grid = source.size() == 4;
        if ((!m_grid && source.size() != 3) || source[0] != shape[0] || source[m_grid ? 1 : 2] != m_dim)
            return false;
        m_rows = m_grid ? elementCount({source[2], source[3]}) : source[1];
        return readTable(shape[0], found);
    }

private:
    bool readTable(int64_t batch, Embedding& found) {
        const Terms& terms = m_traced->terms;
        int64_t first = 0;
        while (first < m_tokens && terms[first * m_dim].count() == 0)
            ++first;
        if (first == m_tokens) return false;
        if (m_partly && !m_grid) m_skipped = terms[first * m_dim].at[0] / m_dim;
        if (m_skipped >= m_rows) return false;
        List<float> table(static_cast<size_t>(elementCount({m_tokens, m_dim})));
        for (int64_t b = 0; b < batch; ++b) {
            for (int64_t t = 0; t < m_tokens; ++t) {
                for (int64_t c = 0; c < m_dim; ++c) {
                    const Term term = terms[(b * m_tokens + t) * m_dim + c];
                    float& entry = table[t * m_dim + c];
                    if (b == 0) entry = term.constant;
                    if (entry != term.constant || !fits(term, b, t - first, c)) return false;
                }
            }
        }
        found.first = first;
        found.skipped = m_skipped;
        found.patches = m_rows - m_skipped;
        found.table = Tensor::floats({m_tokens, m_dim}, table);
        return true;
    }

    bool fits(const Term& term, int64_t b, int64_t patch, int64_t c) const {
        if (patch < 0 || patch >= m_rows - m_skipped) return term.count() == 0;
        const int64_t row = patch + m_skipped;
        const int64_t at = m_grid ? (b * m_dim + c) * m_rows + row : (b * m_rows + row) * m_dim + c;
        return term.count() == 1 && term.factor[0] == 1 && term.at[0] == at;
    }

    const Shapes& m_shapes;
    const int m_value;
    const bool m_partly;
    std::optional<Trace> m_traced;
    int64_t m_tokens = 0, m_dim = 0, m_rows = 0, m_skipped = 0;
    bool m_grid = false;
};

int withoutFirst(Graph& graph, const Embedding& embedding) {
    if (embedding.skipped == 0) return embedding.source;
    const auto at = [&](int64_t value) { return graph.addConstant("ints", Tensor::vector({value})); };
    const int rows = graph.addValue("image_tokens");
    graph.add("Slice", {embedding.source, at(embedding.skipped), at(INT64_MAX), at(1)}, rows, {},
              "image_tokens");
    return rows;
}

void replaceBy(Graph& graph, int value, const Embedding& embedding) {
    graph.release(value);
    const int rows = withoutFirst(graph, embedding);
    graph.add("MpmEmbed", {rows, graph.addConstant("embed.table", embedding.table)}, value, "mpm", "embed")
        .set("first", embedding.first)
        .set("patches", embedding.patches);
}

// Returns the end of a chain of nodes that add constants to `value`.
int lastOfChain(const Graph& graph, const Rewriter& rewriter, int value) {
    while (true) {
        const int next = rewriter.soleUser(value);
        if (next == kAbsent || !graph.nodes[next].is("Add")) return value;
        const int other = Rewriter::otherOperand(graph.nodes[next], value);
        if (other == kAbsent || !graph.isConstant(other)) return value;
        value = graph.nodes[next].outputs[0];
    }
}

// Returns whether a Conv multiplies patches without overlap or padding, and a single node reads its result.
bool projectsPatches(const Graph& graph, const Node& node, const Rewriter& rewriter) {
    if (!node.is("Conv") || rewriter.soleUser(node.outputs[0]) == kAbsent) return false;
    const auto isConstant = [&](size_t k) {
        return node.input(k) != kAbsent && graph.isConstant(node.input(k));
    };
    if (!isConstant(1) || (node.input(2) != kAbsent && !isConstant(2))) return false;
    const Shape& weight = graph.constant(node.input(1)).shape();
    if (weight.size() != 4 || elementCount(weight) == 0) return false;
    const auto all = [&](const char* name, int64_t wanted) {
        const List<int64_t> values = node.getInts(name);
        return std::all_of(values.begin(), values.end(), [wanted](int64_t v) { return v == wanted; });
    };
    const std::string padding = node.getString("auto_pad", "NOTSET");
    return node.getInts("strides") == List<int64_t>{weight[2], weight[3]} && all("pads", 0) &&
           all("dilations", 1) && node.getInt("group", 1) == 1 && (padding == "NOTSET" || padding == "VALID");
}

Tensor withBias(const Tensor& table, const Tensor& bias, int64_t first, int64_t patches) {
    List<float> values = table.toFloats();
    const List<float> added = bias.toFloats();
    const int64_t dim = table.dim(1);
    const int64_t end = checkedProduct<int64_t>(checkedSum<int64_t>(first, patches), dim);
    for (int64_t k = checkedProduct<int64_t>(first, dim); k < end; ++k)
        values[k] += added[k % dim];
    return Tensor::floats(table.shape(), values);
}

}  // namespace

void fusePatchProjections(State& state) {
    Graph& graph = state.graph;
    const Rewriter rewriter(graph);
    for (const Node& conv : graph.nodes) {
        if (!projectsPatches(graph, conv, rewriter)) continue;
        Node& embed = graph.nodes[rewriter.soleUser(conv.outputs[0])];
        if (embed.op != "MpmEmbed" || embed.has("patch")) continue;
        const Tensor weight = graph.constant(conv.input(1));
        Tensor table = graph.constant(embed.input(1));
        if (conv.input(2) != kAbsent) {
            const Shape& grid = state.shapes.of(conv.outputs[0]);
            table = withBias(table, graph.constant(conv.input(2)), embed.getInt("first", 0),
                             elementCount({grid[2], grid[3]}));
        }
        embed.inputs = {conv.input(0), graph.addConstant("embed.table", table),
                        graph.addConstant("embed.weight", weight.transposed())};
        embed.set("patch", {weight.dim(2), weight.dim(3)});
    }
    graph.prune();
}

void insertEmbeddings(State& state) {
    Graph& graph = state.graph;
    List<int> candidates, continued;
    for (const EncoderSpec& encoder : state.match.encoders) {
        candidates.push_back(encoder.input());
        if (encoder.firstBlock > 0) continued.push_back(encoder.input());
    }
    const Rewriter rewriter(graph);
    for (const Node& node : graph.nodes) {
        if (node.is("Concat") && state.shapes.of(node.outputs[0]).size() == 3) {
            candidates.push_back(lastOfChain(graph, rewriter, node.outputs[0]));
        }
    }
    List<int> done;
    for (int value : candidates) {
        if (std::find(done.begin(), done.end(), value) != done.end()) continue;
        Embedding embedding;
        const bool partly = std::find(continued.begin(), continued.end(), value) != continued.end();
        if (!EmbeddingFinder(graph, state.shapes, value, partly).find(embedding)) continue;
        replaceBy(graph, value, embedding);
        done.push_back(value);
    }
    graph.arrange();
}

}  // namespace mpm::models
