// Converts a small model with a head, and compares OpenCV's results with an evaluation of the export.
#pragma once

#include <algorithm>
#include <functional>

#include "converted_export.hpp"

namespace mpm::test {

inline int withInts(GraphBuilder& g, const std::string& op, int x, const char* name,
                    const List<int64_t>& values) {
    const int y = g.node(op, {x});
    g.with(name, Attribute::of(values));
    return y;
}

class HeadsInOpenCV : public testing::Test {
protected:
    using Head = std::function<int(SmallExport& model, int map)>;

    /// Expects that OpenCV's result equals the evaluation of the export. Returns the nodes of the converted
    /// model.
    List<Node> convert(const Head& head, const Shape& output) {
        SmallExport model(1);
        GraphBuilder& g = model.builder();
        int x = model.embed();
        for (int k = 0; k < 2; ++k)
            x = model.block(x);
        const int tokens = withInts(g, "Transpose", model.withoutFirst(model.norm(x)), "perm", {0, 2, 1});
        const Shape map{1, SmallExport::kDim, SmallExport::kRows, SmallExport::kColumns};
        g.output(head(model, g.node("Reshape", {tokens, g.ints({1, map[1], map[2], map[3]})})), "y", output);
        models::Graph made;
        convertedLike(model.graph(), model.graph(), unmerged(), SmallExport::image(1), &made);
        return made.nodes;
    }

    static int64_t count(const List<Node>& nodes, const std::string& op) {
        return std::count_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.op == op; });
    }
};

}  // namespace mpm::test
