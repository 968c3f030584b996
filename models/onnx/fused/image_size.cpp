#include "models/onnx/fused/fuse.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/checked.hpp"
#include "models/onnx/fused/insert.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {
namespace {

constexpr const char* kHint = ": export the model at that size instead";

Tensor resizedPositions(const Tensor& table, const PatchGrid& from, const PatchGrid& to, bool bicubic) {
    const int64_t width = table.dim(1);
    Graph graph;
    graph.opset = 18;
    Node node;
    node.op = "Resize";
    node.set("mode", bicubic ? "cubic" : "linear");
    if (bicubic)  // like PyTorch's antialiased bicubic
        node.set("cubic_coeff_a", -0.5f).set("antialias", 1).set("exclude_outside", 1);
    const Tensor sizes = Tensor::vector({to.rows, to.columns, width});
    const Tensor grid = table.reshaped({from.rows, from.columns, width});
    return evaluateNode(graph, node, {grid, {}, {}, sizes})[0].reshaped({to.count(), width});
}

class SizeChange {
public:
    SizeChange(State& state, const Binding& to, std::vector<std::string>& notes)
        : m_graph(state.graph),
          m_old(state.shapes),
          m_tables(state.tables),
          m_fromSize(state.binding.size),
          m_to(to),
          m_notes(notes) {
        const EncoderSpec& backbone = *state.match.backbone();
        if (backbone.windows.present()) throw Refusal("its attention runs in windows" + std::string(kHint));
        m_from = {backbone.gridRows, backbone.gridColumns};
        if (m_from.count() == 0) throw Refusal("the grid of the patches is not known" + std::string(kHint));
        const int64_t height = m_fromSize.height / m_from.rows, width = m_fromSize.width / m_from.columns;
        if (height < 1 || width < 1)
            throw Refusal("the grid of the patches is not known" + std::string(kHint));
        if (to.size.height % height || to.size.width % width) {
            throw Refusal(cv::format("the size must be a multiple of the patches' %dx%d",
                                     static_cast<int>(height), static_cast<int>(width)));
        }
        m_grid = {to.size.height / height, to.size.width / width};
        for (const EncoderSpec* segment : state.match.segments())
            for (const Block& block : segment->blocks)
                if (block.attention.keyBias.known())
                    throw Refusal("a bias per token is baked into the export" + std::string(kHint));
    }

    Shapes run() {
        // In graph order, adapts the constants of each node and then infers the node's outputs.
        m_new.dynamic = m_to.dynamicBatch;
        start(m_new.at, m_to.inputs);
        if (m_new.dynamic) start(m_new.other, m_to.otherInputs);
        for (Node& node : m_graph.nodes) {
            patch(node);
            advance(node, m_new.at);
            if (m_new.dynamic) advance(node, m_new.other);
        }
        for (Inferred* inferred : {&m_new.at, &m_new.other}) {
            const size_t known = inferred->values.size();
            inferred->values.resize(m_graph.values.size());
            for (size_t v = known; v < m_graph.values.size(); ++v)
                inferred->values[v] = m_graph.values[v].constant;
        }
        return std::move(m_new);
    }

private:
    void start(Inferred& inferred, const List<Tensor>& inputs) {
        inferred.values.assign(m_graph.values.size(), Tensor());
        for (size_t v = 0; v < m_graph.values.size(); ++v)
            inferred.values[v] = m_graph.values[v].constant;
        for (size_t k = 0; k < inputs.size(); ++k)
            inferred.values[m_graph.inputs[k].value] = inputs[k];
    }

    void advance(const Node& node, Inferred& inferred) const {
        List<Tensor> inputs;
        for (int in : node.inputs)
            inputs.push_back(in == kAbsent            ? Tensor()
                             : m_graph.isConstant(in) ? m_graph.constant(in)
                                                      : inferred.values[in]);
        const List<Tensor> outputs = evaluated(node, inputs);
        for (size_t k = 0; k < node.outputs.size(); ++k) {
            if (node.outputs[k] != kAbsent) inferred.values[node.outputs[k]] = outputs[k];
        }
    }

    List<Tensor> evaluated(const Node& node, const List<Tensor>& inputs) const {
        try {
            return evaluateNode(m_graph, node, inputs);
        } catch (const Refusal& refusal) {  // the node works only at the export's size
            throw Refusal(std::string("the model holds its size (") + refusal.what() + ")" + kHint);
        }
    }

    const Shape& oldShape(int value) const { return m_old.of(value); }
    const Shape& newShape(int value) const { return m_new.at.values[value].shape(); }
    bool isOld(int value) const { return value < static_cast<int>(m_old.at.values.size()); }

    void patch(Node& node) {
        if (node.domain == "mpm" && node.op == "MpmEmbed") return patchEmbedding(node);
        if (node.domain == "mpm" && node.op == "MpmEncoder") return patchEncoder(node);
        if (node.is("Reshape") && isOld(node.inputs[0]) && isOld(node.outputs[0])) return patchReshape(node);
        if (node.is("Resize") && node.input(3) != kAbsent) return patchResize(node);
        if (node.is("Slice")) return patchSlice(node);
        if (node.is("Gather")) return checkGather(node);
        for (int in : node.inputs) {
            const bool baked =
                in != kAbsent && m_graph.isConstant(in) && holdsSize(m_graph.constant(in).shape());
            if (baked && (node.is("Add") || node.is("Mul") || node.is("Concat") || node.is("Expand"))) {
                throw Refusal(m_graph.describe(node) + " has a constant of the export's size" + kHint);
            }
        }
    }

    bool holdsSize(const Shape& shape) const {
        return std::any_of(shape.begin(), shape.end(),
                           [this](int64_t d) { return d == m_from.count() && d > 1; });
    }

    // Returns how many rows of `tokens` are in front of the image tokens and behind them. If `tokens` is
    // neither an MpmEncoder's output nor a Slice of such an output, returns {0, 0}.
    std::pair<int64_t, int64_t> othersIn(int tokens) const {
        const Node* node = m_graph.nodeOf(tokens);
        int64_t skipped = 0;
        if (node && node->is("Slice")) {
            skipped = m_graph.constant(node->inputs[1]).at(0);
            node = m_graph.nodeOf(node->inputs[0]);
        }
        if (!node || node->op != "MpmEncoder") return {0, 0};
        return {std::max<int64_t>(node->getInt("special_tokens", 1) - skipped, 0),
                node->getInt("trailing_tokens", 0)};
    }

    int64_t rowsRead(const Node& embed) const {
        if (embed.has("patches")) return embed.getInt("patches", 0);
        const int source = embed.inputs[0];
        const Shape& shape = isOld(source) ? oldShape(source) : newShape(source);
        return shape.size() == 4 ? elementCount({shape[2], shape[3]}) : shape[1];
    }

    // Resizes the position embeddings, which are the table's rows for image tokens. Keeps the rows of special
    // tokens.
    void patchEmbedding(Node& node) {
        const Tensor table = m_graph.constant(node.inputs[1]);
        const int64_t width = table.dim(1);
        const auto [before, behind] = othersIn(node.inputs[0]);
        const int64_t first = checkedSum<int64_t>(node.getInt("first", 0), before);
        const int64_t patches = rowsRead(node) - before - behind;
        if (patches != m_from.count()) return patchConstantRows(node, table);
        if (first < 0 || first > table.dim(0) - patches)
            throw Refusal(m_graph.describe(node) + " has a table that does not fit: the file is damaged");
        const List<float> all = table.toFloats();
        const auto at = [&](int64_t row) { return all.begin() + row * width; };
        const Tensor image = Tensor::floats({patches, width}, List<float>(at(first), at(first + patches)));
        const List<float> resized = positions(image).toFloats();
        List<float> values(all.begin(), at(first));
        values.insert(values.end(), resized.begin(), resized.end());
        values.insert(values.end(), at(first + patches), all.end());
        const int64_t rows = static_cast<int64_t>(values.size()) / width;
        node.inputs[1] = m_graph.addConstant("embed.table", Tensor::floats({rows, width}, values));
        if (node.has("patches")) node.set("patches", m_grid.count() + before + behind);
    }

    Tensor positions(const Tensor& image) {
        if (m_from.rows == m_grid.rows && m_from.columns == m_grid.columns) return image;
        if (const auto own = ownPositions(m_tables, image, m_from, m_grid)) return *own;
        noteInterpolation(image);
        return resizedPositions(image, m_from, m_grid, !segments());
    }

    // If positions vary, adds a note that they are interpolated. The note also states whether the exporter
    // certainly interpolated the positions before, or may have done so.
    void noteInterpolation(const Tensor& image) {
        bool varies = false;
        for (int64_t k = image.dim(1); k < image.size(); ++k)
            varies |= image.f()[k] != image.f()[k % image.dim(1)];
        const bool twice = std::any_of(m_tables.begin(), m_tables.end(), [&](const ResizedTable& table) {
            return table.result.size() == image.size();
        });
        const std::string note = cv::format("positions of %dx%d patches are interpolated to %dx%d: ",
                                            static_cast<int>(m_from.rows), static_cast<int>(m_from.columns),
                                            static_cast<int>(m_grid.rows), static_cast<int>(m_grid.columns)) +
                                 (twice ? "twice, as the export has interpolated them already"
                                        : "twice, if the export holds interpolated ones") +
                                 "; for its own, export at that size";
        if (varies && std::find(m_notes.begin(), m_notes.end(), note) == m_notes.end())
            m_notes.push_back(note);
    }

    // Adapts the table of a node that reads more or fewer rows than there are patches. All rows that the node
    // reads must be equal. The new table repeats their common values for each token.
    void patchConstantRows(Node& node, const Tensor& table) {
        const Shape& shape = newShape(node.inputs[0]);
        const int64_t first = node.getInt("first", 0), width = table.dim(1), before = rowsRead(node),
                      now = shape.size() == 3 ? shape[1] : before;
        if (now == before) return;
        if (first < 0 || before < 1 || first > table.dim(0) - before)
            throw Refusal(m_graph.describe(node) + " has a table that does not fit: the file is damaged");
        const List<float> all = table.toFloats();
        const auto at = [&](int64_t row) { return all.begin() + row * width; };
        List<float> values(all.begin(), at(first));
        for (int64_t row = first; row < first + before; ++row) {
            if (!std::equal(at(first), at(first + 1), at(row)))
                throw Refusal(m_graph.describe(node) + " has positions of more tokens than the patches" +
                              kHint);
        }
        for (int64_t row = 0; row < now; ++row)
            values.insert(values.end(), at(first), at(first + 1));
        values.insert(values.end(), at(first + before), all.end());
        const int64_t rows = static_cast<int64_t>(values.size()) / width;
        node.inputs[1] = m_graph.addConstant("embed.table", Tensor::floats({rows, width}, values));
        if (node.has("patches")) node.set("patches", now);
    }

    // Returns whether output 0 has scores for every pixel.
    bool segments() const {
        const Shape& out = m_old.of(m_graph.outputs[0].value);
        return out.size() == 4 && out[2] == m_fromSize.height && out[3] == m_fromSize.width;
    }

    void patchEncoder(Node& node) {
        if (node.has("grid")) node.set("grid", {m_grid.rows, m_grid.columns});
        std::istringstream text(node.getString("inputs", ""));
        const List<std::string> names{std::istream_iterator<std::string>(text), {}};
        const std::string cos = "rope.cos";
        for (size_t k = 0; k < names.size(); ++k) {
            if (names[k].size() < cos.size() || names[k].substr(names[k].size() - cos.size()) != cos)
                continue;
            const std::string sin = names[k].substr(0, names[k].size() - cos.size()) + "rope.sin";
            const auto found = std::find(names.begin(), names.end(), sin);
            if (found == names.end()) throw Refusal(m_graph.describe(node) + " lacks " + sin);
            patchRope(node, node.inputs[k], node.inputs[found - names.begin()]);
        }
    }

    void patchRope(const Node& node, int& cos, int& sin) {
        const auto byHead = [](const Tensor& table) {
            return table.rank() == 2 ? table.reshaped({1, table.dim(0), table.dim(1)}) : table;
        };
        const Shape shape = m_graph.constant(cos).shape();
        const Rope old{byHead(m_graph.constant(cos)), byHead(m_graph.constant(sin)),
                       node.getString("rope", "interleaved") == "interleaved"};
        const ResizedRope resized = resizedRope(old, m_from, m_grid);
        Shape now = resized.rope.cos.shape();
        if (shape.size() == 2) now = {now[1], now[2]};
        cos = m_graph.addConstant("rope.cos", resized.rope.cos.reshaped(now));
        sin = m_graph.addConstant("rope.sin", resized.rope.sin.reshaped(now));
        const bool known = std::find(m_notes.begin(), m_notes.end(), resized.note) != m_notes.end();
        if (!resized.note.empty() && !known) m_notes.push_back(resized.note);
    }

    // Divides the axes of the input and of the output into groups, so that matching groups have the same
    // number of elements. If a group of the output is the old grid, writes the new grid.
    void patchReshape(Node& node) {
        const Shape &from = oldShape(node.inputs[0]), &to = oldShape(node.outputs[0]),
                    &now = newShape(node.inputs[0]);
        List<int64_t> target;
        for (size_t i = 0, o = 0; i < from.size() || o < to.size();) {
            const size_t iFirst = i, oFirst = o;
            int64_t in = i < from.size() ? from[i++] : 1, out = o < to.size() ? to[o++] : 1;
            while (in != out) {
                if (in < out ? i == from.size() : o == to.size())
                    throw Refusal(m_graph.describe(node) + " holds the export's size" + kHint);
                int64_t& smaller = in < out ? in : out;
                smaller = checkedProduct<int64_t>(smaller, in < out ? from[i++] : to[o++]);
            }
            int64_t have = 1;
            for (size_t k = iFirst; k < i; ++k)
                have = checkedProduct<int64_t>(have, now[k]);
            spread(node, {to.begin() + oFirst, to.begin() + o}, in, have, target);
        }
        for (size_t k = 0; k < target.size(); ++k) {
            if (m_old.isBatch(node.outputs[0], k))
                target[k] = k < from.size() && m_old.isBatch(node.inputs[0], k) ? 0 : -1;
        }
        node.inputs[1] = m_graph.addConstant("shape", Tensor::vector(target));
        node.attributes.erase("allowzero");
    }

    void spread(const Node& node, const Shape& part, int64_t before, int64_t now,
                List<int64_t>& target) const {
        const int64_t finer = part.size() == 2 ? part[0] / m_from.rows : 0;
        const bool grid = finer >= 1 && part[0] == checkedProduct<int64_t>(finer, m_from.rows) &&
                          part[1] == checkedProduct<int64_t>(finer, m_from.columns);
        const PatchGrid wanted{checkedProduct<int64_t>(finer, m_grid.rows),
                               checkedProduct<int64_t>(finer, m_grid.columns)};
        const bool same = before == now;
        // Checks for a grid first, because the new grid may have as many patches as the old grid.
        if (grid && (finer == 1 || !same) && now == wanted.count()) {
            target.insert(target.end(), {wanted.rows, wanted.columns});
        } else if (same || part.empty()) {
            target.insert(target.end(), part.begin(), part.end());
        } else if (part.size() == 1) {
            target.push_back(now);
        } else {
            throw Refusal(m_graph.describe(node) + " holds the export's size" + kHint);
        }
    }

    void patchResize(Node& node) {
        const Shape &from = oldShape(node.inputs[0]), &to = oldShape(node.outputs[0]),
                    &now = newShape(node.inputs[0]);
        List<int64_t> sizes(now.begin(), now.end());
        const bool toImage = to.size() == 4 && to[2] == m_fromSize.height && to[3] == m_fromSize.width;
        for (size_t k = 2; k < sizes.size(); ++k) {
            if (from[k] < 1 || now[k] < 1)
                throw Refusal(m_graph.describe(node) + " resizes an image without pixels");
            const int64_t scaled = checkedProduct<int64_t>(now[k], to[k]);
            if (!toImage && scaled % from[k])
                throw Refusal(m_graph.describe(node) + " holds the export's size" + kHint);
            sizes[k] = toImage ? (k == 2 ? m_to.size.height : m_to.size.width) : scaled / from[k];
        }
        node.inputs[3] = kAbsent;
        // Writes scales instead of sizes, because sizes would fix the batch.
        List<float> scales(sizes.size(), 1.f);
        for (size_t k = 2; k < sizes.size(); ++k) {
            scales[k] = static_cast<float>(sizes[k]) / static_cast<float>(now[k]);
            // A Resize rounds size * scale down, so the scale must not be too small.
            while (std::floor(static_cast<double>(now[k]) * scales[k]) < static_cast<double>(sizes[k]))
                scales[k] = std::nextafter(scales[k], INFINITY);
        }
        node.inputs[2] =
            m_graph.addConstant("scales", Tensor::floats({static_cast<int64_t>(scales.size())}, scales));
    }

    // Returns whether the index `place` is certainly behind the patches. Returns false if all elements in
    // front of `place` may be special tokens, or if the elements from `place` on may be the patches.
    bool isBehindPatches(int64_t place, int64_t extent) const {
        int64_t before = 0;
        for (const Node& node : m_graph.nodes)
            if (node.op == "MpmEncoder") before = std::max(before, node.getInt("special_tokens", 1));
        return place >= m_from.count() && place > before && extent - place != m_from.count();
    }

    void checkGather(const Node& node) const {
        if (!isOld(node.inputs[0]) || !m_graph.isConstant(node.inputs[1])) return;
        const Shape& from = oldShape(node.inputs[0]);
        const int64_t axis = node.axis(0, from.size());
        if (newShape(node.inputs[0])[axis] == from[axis]) return;
        const List<int64_t> places = m_graph.constant(node.inputs[1]).toInts();
        const bool behind = std::any_of(places.begin(), places.end(),
                                        [&](int64_t place) { return isBehindPatches(place, from[axis]); });
        if (behind || static_cast<int64_t>(places.size()) >= m_from.count())
            throw Refusal(m_graph.describe(node) + " picks patches of the export's size" + kHint);
    }

    // If a slice ends at the old end of the axis, makes it end at the new end.
    void patchSlice(Node& node) {
        if (node.input(1) == kAbsent || !isOld(node.inputs[0])) return;
        const Shape& from = oldShape(node.inputs[0]);
        const List<int64_t> starts = m_graph.constant(node.inputs[1]).toInts();
        List<int64_t> ends = m_graph.constant(node.inputs[2]).toInts();
        List<int64_t> axes =
            node.input(3) == kAbsent ? List<int64_t>{} : m_graph.constant(node.inputs[3]).toInts();
        for (size_t k = 0; k < ends.size(); ++k) {
            const int64_t axis = axes.empty()  ? static_cast<int64_t>(k)
                                 : axes[k] < 0 ? axes[k] + static_cast<int64_t>(from.size())
                                               : axes[k];
            const bool whole = ends[k] >= from[axis];
            if (whole) ends[k] = INT64_MAX;
            if (newShape(node.inputs[0])[axis] == from[axis]) continue;
            if ((!whole && isBehindPatches(ends[k], from[axis])) || isBehindPatches(starts[k], from[axis]))
                throw Refusal(m_graph.describe(node) + " cuts at the export's number of patches" + kHint);
        }
        node.inputs[2] = m_graph.addConstant("ends", Tensor::vector(ends));
    }

    Graph& m_graph;
    const Shapes& m_old;
    const List<ResizedTable>& m_tables;
    const cv::Size m_fromSize;
    const Binding& m_to;
    std::vector<std::string>& m_notes;
    PatchGrid m_from, m_grid;
    Shapes m_new;
};

}  // namespace

void changeImageSize(State& state, const Binding& to, std::vector<std::string>& notes) {
    state.shapes = SizeChange(state, to, notes).run();
    state.binding = to;
    state.match = encodersOf(state.graph, state.shapes.at);
}

}  // namespace mpm::models
