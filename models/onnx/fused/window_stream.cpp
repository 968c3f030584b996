#include "models/onnx/fused/insert.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/trace/trace.hpp"

namespace mpm::models {
namespace {

class WindowStream {
public:
    WindowStream(Graph& graph, const Shapes& shapes, const EncoderSpec& encoder)
        : m_graph(graph), m_shapes(shapes), m_encoder(encoder), m_windows(encoder.windows) {}

    int enter() {
        int source = m_windows.source;
        if (m_windows.channelsLast) {
            const int64_t batch = m_encoder.blocks[0].batch;
            source =
                reshape(source, {batch, m_encoder.imageTokens(), m_encoder.dim}, m_graph.addValue("patches"));
        }
        int tokens = m_graph.addValue("tokens");
        const int table = m_graph.addConstant("embed.table", m_windows.table);
        m_graph.add("MpmEmbed", {source, table}, tokens, "mpm", "embed")
            .set("first", m_encoder.special)
            .set("patches", m_encoder.imageTokens());
        for (const Norm& norm : m_windows.norms) {
            List<int> inputs{tokens, m_graph.addConstant("norm.weight", norm.weight)};
            if (norm.bias.known()) inputs.push_back(m_graph.addConstant("norm.bias", norm.bias));
            tokens = m_graph.addValue("tokens.normed");
            writeRule(m_graph.add("MpmLayerNorm", inputs, tokens, "mpm"), "", norm.rule, {});
        }
        return tokens;
    }

    void leave(int tap, int tokens) {
        const auto isOutput = [&](int value) {
            return std::any_of(m_graph.outputs.begin(), m_graph.outputs.end(),
                               [value](const Port& port) { return port.value == value; });
        };
        const List<List<int>> users = m_graph.users();
        OpenValues open({tap});
        List<std::pair<int, Order>> found;
        bool others = false;
        for (int value; open.next(value);) {
            checkTime();
            if (const Order order = orderOf(value, tap); order != Order::Other) {
                found.emplace_back(value, order);
                continue;
            }
            others |= isOutput(value);
            for (const int n : users[value]) {
                const Node& user = m_graph.nodes[n];
                if (user.is("Shape") || user.is("Size")) continue;
                if (moves(user)) {
                    open.add(user.outputs[0]);
                } else {
                    others = true;
                }
            }
        }
        if (others) restore(tap, tokens);
        for (const auto& [value, order] : found)
            replace(value, tokens, order);
    }

private:
    enum class Order { Other, ChannelsLast, ChannelsFirst };

    int add(const char* op, const List<int>& inputs, int to) {
        m_graph.add(op, inputs, to, "mpm.internal");  // lower() keeps nodes of this domain
        return to;
    }

    // Axis 0 must be the batch or a multiple of it. If the batch is dynamic, the size of axis 0 becomes -1.
    int reshape(int from, const Shape& shape, int to) {
        List<int64_t> sizes(shape.begin(), shape.end());
        if (m_shapes.dynamic) sizes[0] = -1;
        return add("Reshape", {from, m_graph.addConstant("shape", Tensor::vector(sizes))}, to);
    }

    int transpose(int from, const List<int64_t>& order, int to) {
        m_graph.add("MpmTranspose", {from}, to, "mpm").set("perm", order);
        return to;
    }

    bool moves(const Node& node) const {
        const bool known = node.inputs[0] < static_cast<int>(m_shapes.at.values.size()) &&
                           node.outputs.size() == 1 &&
                           node.outputs[0] < static_cast<int>(m_shapes.at.values.size());
        return known &&
               node.isAny({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Slice", "Identity"});
    }

    // Returns the layout of a value that has the tap's image tokens in raster order; Other for other values.
    Order orderOf(int value, int tap) const {
        const int64_t dim = m_encoder.dim, count = m_encoder.imageTokens(), batch = m_encoder.blocks[0].batch;
        if (m_shapes.at.values[value].size() != checkedProduct<int64_t>(batch, count, dim))
            return Order::Other;
        const auto traced = trace(m_graph, m_shapes.at, value, Follow::Affine, {tap});
        if (!traced || traced->sources != List<int>{tap}) return Order::Other;
        const auto fits = [&](bool last) {
            for (int64_t k = 0; k < static_cast<int64_t>(traced->terms.size()); ++k) {
                const int64_t image = k / (count * dim), within = k % (count * dim);
                const int64_t token = last ? within / dim : within % count,
                              channel = last ? within % dim : within / count;
                const Term term = traced->terms[k];
                if (term.count() != 1 || term.factor[0] != 1 || term.constant != 0 ||
                    term.at[0] % dim != channel)
                    return false;
                const int64_t place = image * m_encoder.tokens + m_encoder.special + token;
                if (m_windows.places[term.at[0] / dim] != place) return false;
            }
            return true;
        };
        return fits(true) ? Order::ChannelsLast : fits(false) ? Order::ChannelsFirst : Order::Other;
    }

    int imageRows(int tokens) {
        if (m_encoder.special == 0) return tokens;
        int& rows = m_imageRows[tokens];
        if (rows != 0) return rows;
        const auto at = [&](int64_t value) { return m_graph.addConstant("ints", Tensor::vector({value})); };
        return rows = add("Slice", {tokens, at(m_encoder.special), at(m_encoder.tokens), at(1)},
                          m_graph.addValue("tokens.image"));
    }

    void replace(int value, int tokens, Order order) {
        m_graph.release(value);
        int rows = imageRows(tokens);
        if (order == Order::ChannelsFirst)
            rows = transpose(rows, {0, 2, 1}, m_graph.addValue("tokens.turned"));
        reshape(rows, m_shapes.of(value), value);
    }

    bool isRaster() const {
        for (size_t row = 0; row < m_windows.places.size(); ++row)
            if (m_windows.places[row] != static_cast<int32_t>(row)) return false;
        return true;
    }

    // Returns whether the tap's rows are ordered by window, each window with its special tokens in front.
    bool isByWindow() const {
        const int64_t window = elementCount({m_windows.rows, m_windows.columns}),
                      each = window + m_windows.special;
        const int64_t across = m_encoder.gridColumns / m_windows.columns, all = m_encoder.tokens / each;
        if (m_windows.padding) return false;
        for (size_t row = 0; row < m_windows.places.size(); ++row) {
            const auto k = static_cast<int64_t>(row);
            const int64_t image = k / m_encoder.tokens, number = k % m_encoder.tokens / each,
                          within = k % each;
            int64_t place = number % all * m_windows.special + within;
            if (within >= m_windows.special) {
                const int64_t t = within - m_windows.special;
                const int64_t y = number / across * m_windows.rows + t / m_windows.columns,
                              x = number % across * m_windows.columns + t % m_windows.columns;
                place = m_encoder.special + y * m_encoder.gridColumns + x;
            }
            if (m_windows.places[row] != image * m_encoder.tokens + place) return false;
        }
        return true;
    }

    void restore(int tap, int tokens) {
        m_graph.release(tap);
        const Shape& shape = m_shapes.of(tap);
        if (isRaster()) {
            reshape(tokens, shape, tap);
            return;
        }
        if (!isByWindow())
            throw Refusal(
                "nodes behind the encoder read its tokens in an order of windows that is not supported");
        const int64_t rows = m_windows.rows, columns = m_windows.columns, dim = m_encoder.dim,
                      down = m_encoder.gridRows / rows, across = m_encoder.gridColumns / columns,
                      batch = m_encoder.blocks[0].batch;
        const auto fresh = [&] { return m_graph.addValue("tokens.windows"); };
        int images = reshape(imageRows(tokens),
                             {checkedProduct<int64_t>(batch, down), rows, across, columns, dim}, fresh());
        images = transpose(images, {0, 2, 1, 3, 4}, fresh());
        const Shape windows{checkedProduct<int64_t>(batch, down, across), rows * columns, dim};
        images = reshape(images, windows, fresh());
        if (m_windows.special > 0) images = joinSpecial(images, tokens);
        reshape(images, shape, tap);
    }

    int joinSpecial(int images, int tokens) {
        const auto at = [&](int64_t value) { return m_graph.addConstant("ints", Tensor::vector({value})); };
        const int special =
            add("Slice", {tokens, at(0), at(m_encoder.special), at(1)}, m_graph.addValue("tokens.special"));
        const int64_t each = m_windows.special, count = m_encoder.special / each;
        const Shape windows{checkedProduct<int64_t>(m_encoder.blocks[0].batch, count), each, m_encoder.dim};
        const int shaped = reshape(special, windows, m_graph.addValue("tokens.special"));
        const int joined = add("Concat", {shaped, images}, m_graph.addValue("tokens.joined"));
        m_graph.nodes.back().set("axis", 1);
        return joined;
    }

    Graph& m_graph;
    const Shapes& m_shapes;
    const EncoderSpec& m_encoder;
    const Windows& m_windows;
    std::map<int, int> m_imageRows;  // results of imageRows() by `tokens`
};

}  // namespace

int connectWindows(State& state, const EncoderSpec& encoder, const List<int>& outputs) {
    WindowStream stream(state.graph, state.shapes, encoder);
    for (size_t k = 0; k < outputs.size(); ++k)
        stream.leave(encoder.taps[k].value, outputs[k]);
    return stream.enter();
}

}  // namespace mpm::models
