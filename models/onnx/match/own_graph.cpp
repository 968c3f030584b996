#include "models/onnx/match/match.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {
namespace {

constexpr const char* kBadSchedule = "metadata mpm.schedule is not a list of blocks: the file is damaged";

constexpr int64_t kMostBlocks = 10000;

bool isBackbone(const Node& node) {
    return node.domain == "mpm" && node.op == "MpmEncoder" &&
           node.getString("role", "backbone") == "backbone";
}

class EncoderReader {
public:
    EncoderReader(const Graph& graph, const Inferred& inferred, const Node& node) : m_node(node) {
        std::istringstream names(node.getString("inputs", ""));
        List<std::string> words{std::istream_iterator<std::string>(names), {}};
        if (words.size() != node.inputs.size())
            throw Refusal(graph.describe(node) + " lists other inputs than it has: the file is damaged");
        for (size_t k = 0; k < words.size(); ++k) {
            if (graph.isConstant(node.inputs[k])) m_weights[words[k]] = graph.constant(node.inputs[k]);
            m_takesMap |= words[k] == "map";
        }
        m_shape = inferred.values[node.inputs[0]].shape();
        if (m_shape.size() != 3)
            throw Refusal(graph.describe(node) + " takes tokens [batch, tokens, width], not " +
                          toString(m_shape));
    }

    EncoderSpec read() {
        EncoderSpec encoder;
        encoder.tokens = m_shape[1];
        encoder.dim = m_shape[2];
        encoder.special = static_cast<int>(within("special_tokens", 1, 0, encoder.tokens));
        readWindows(encoder);
        encoder.trailing =
            static_cast<int>(within("trailing_tokens", 0, 0, encoder.tokens - encoder.special));
        encoder.firstBlock = static_cast<int>(within("first_block", 0, 0, kMostBlocks));
        encoder.chainBlocks = static_cast<int>(within("chain_blocks", 0, 0, kMostBlocks));
        encoder.givesMap = m_node.getInt("map_output", 0) != 0;
        encoder.decoder = !isBackbone(m_node);
        encoder.takesMap = m_takesMap;
        const List<int64_t> grid = m_node.getInts("grid");
        if (grid.size() == 2) {
            elementCount(grid);
            encoder.gridRows = grid[0];
            encoder.gridColumns = grid[1];
        }
        const int64_t blocks = m_node.getInt("blocks", 0);
        if (blocks < 1 || blocks > kMostBlocks)
            throw Refusal("an MpmEncoder with " + std::to_string(blocks) + " blocks: the file is damaged");
        for (int64_t k = 0; k < blocks; ++k)
            encoder.blocks.push_back(readBlock(std::to_string(encoder.firstBlock + k) + "."));
        encoder.blocks[0].input = m_node.inputs[0];
        List<int64_t> taps = m_node.getInts("taps");
        if (taps.empty()) taps = {encoder.firstBlock + blocks - 1};
        for (size_t k = 0; k < taps.size(); ++k)
            encoder.taps.push_back(
                {checkedCast<int>(taps[k]), false, k < m_node.outputs.size() ? m_node.outputs[k] : kAbsent});
        encoder.norm = norm("norm", "final_");
        return encoder;
    }

private:
    Tensor weight(const std::string& name) const {
        const auto found = m_weights.find(name);
        return found == m_weights.end() ? Tensor() : found->second;
    }

    int64_t within(const char* name, int64_t fallback, int64_t low, int64_t high) const {
        const int64_t value = m_node.getInt(name, fallback);
        if (value < low || value > high)
            throw Refusal("an MpmEncoder with " + std::to_string(value) + " as " + name +
                          ": the file is damaged");
        return value;
    }

    // Reads the windows. Sets encoder.special to the number of special tokens of all windows together,
    // because the special tokens of all windows are in front of the image tokens.
    void readWindows(EncoderSpec& encoder) const {
        const List<int64_t> window = m_node.getInts("window"), grid = m_node.getInts("grid");
        if (window.empty()) return;
        const bool valid = window.size() == 2 && grid.size() == 2 && window[0] > 0 && window[1] > 0 &&
                           grid[0] > 0 && grid[1] > 0 && window[0] <= INT32_MAX && window[1] <= INT32_MAX;
        if (!valid) throw Refusal("an MpmEncoder with windows of no size: the file is damaged");
        const int64_t count =
            checkedProduct<int64_t>((checkedSum<int64_t>(grid[0], window[0]) - 1) / window[0],
                                    (checkedSum<int64_t>(grid[1], window[1]) - 1) / window[1]);
        const int64_t special = checkedProduct<int64_t>(count, encoder.special);
        if (special > encoder.tokens)
            throw Refusal("an MpmEncoder with more windows than tokens: the file is damaged");
        encoder.windows = {
            window[0], window[1], encoder.special, m_node.getInt("padding", 0) != 0, {}, {}, -1, false,
            {},        {}};
        for (const int64_t block : m_node.getInts("global_blocks"))
            encoder.windows.globalBlocks.push_back(checkedCast<int>(block));
        encoder.special = static_cast<int>(special);
    }

    Norm norm(const std::string& name, const char* prefix) const {
        const NormRule usual = ruleFrom(m_node, "", {});
        return {weight(name + ".weight"), weight(name + ".bias"), ruleFrom(m_node, prefix, usual)};
    }

    Dense dense(const std::string& name, bool required = true) const {
        const Dense found{weight(name + ".weight"), weight(name + ".bias")};
        if (required && (!found.present() || found.weight.rank() != 2))
            throw Refusal("an MpmEncoder lacks " + name + ".weight: the file is damaged");
        return found;
    }

    Block readBlock(const std::string& prefix) const {
        Block block;
        Attention& a = block.attention;
        a.norm = norm(prefix + "norm1", "");
        a.qkv = dense(prefix + "qkv");
        a.qNorm = norm(prefix + "q_norm", "inner_");
        a.kNorm = norm(prefix + "k_norm", "inner_");
        a.inner = norm(prefix + "attn_norm", "inner_");
        a.proj = dense(prefix + "proj");
        a.heads = static_cast<int>(within("heads", 1, 1, 1 << 16));
        a.scale = m_node.getFloat("scale", 0);
        if (m_weights.count("rope.cos"))
            a.rope = Rope{weight("rope.cos"), weight("rope.sin"),
                          m_node.getString("rope", "interleaved") == "interleaved"};
        block.parallel = m_node.getInt("parallel", 0) != 0;
        block.mlp.norm = norm(prefix + "norm2", "");
        block.mlp.fc1 = dense(prefix + "fc1");
        block.mlp.gate = dense(prefix + "gate", false);
        block.mlp.inner = norm(prefix + "mlp_norm", "inner_");
        block.mlp.fc2 = dense(prefix + "fc2");
        block.mlp.activation = m_node.getString("activation", "gelu");
        block.tokens = m_shape[1];
        block.batch = m_shape[0];
        return block;
    }

    const Node& m_node;
    std::map<std::string, Tensor> m_weights;
    bool m_takesMap = false;
    Shape m_shape;
};

void checkChain(const Match& match) {
    const List<const EncoderSpec*> segments = match.segments();
    if (segments.empty() || segments[0]->chainBlocks == 0) return;
    int next = 0;
    bool whole = true;
    for (const EncoderSpec* segment : segments) {
        whole &= segment->firstBlock == next && segment->chainBlocks == segments[0]->chainBlocks;
        next = segment->endBlock();
    }
    if (!whole || next != segments[0]->chainBlocks)
        throw Refusal("the segments of the encoder do not cover its blocks: the file is damaged");
}

}  // namespace

bool isFused(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [](const Node& n) { return n.domain == "mpm" && n.op == "MpmEncoder"; });
}

bool isLayers(const Graph& graph) {
    const auto merges = [](const Node& n) {
        return n.domain == "mpm" && (n.op == "MpmMerge" || n.op == "MpmRestore");
    };
    return !isFused(graph) && std::any_of(graph.nodes.begin(), graph.nodes.end(), merges);
}

void dropMerges(Graph& graph, const Inferred& inferred) {
    Rewriter rewriter(graph);
    for (Node& node : graph.nodes) {
        checkTime();
        if (node.domain != "mpm" || (node.op != "MpmMerge" && node.op != "MpmRestore")) continue;
        if (node.op == "MpmMerge" && node.outputs.size() > 1 && node.outputs[1] != kAbsent) {
            graph.values[node.outputs[1]].constant = inferred.values[node.outputs[1]];
            node.outputs[1] = graph.addValue("unused");
            rewriter.refresh();
        }
        rewriter.replace(node.outputs[0], node.inputs[0]);
    }
    graph.prune();
}

Match encodersOf(const Graph& graph, const Inferred& inferred) {
    Match match;
    for (const Node& node : graph.nodes) {
        if (node.domain == "mpm" && node.op == "MpmEncoder")
            match.encoders.push_back(EncoderReader(graph, inferred, node).read());
    }
    checkChain(match);
    const RowMatcher rows(graph, inferred);
    for (const Node& node : graph.nodes) {
        const bool masked = node.op == "MpmMaskedSoftmax" && node.input(1) != kAbsent;
        const bool softmax = node.is("Softmax") || node.op == "MpmMaskedSoftmax";
        if (masked || (softmax && isAttention(rows, node.outputs[0])))
            match.outside.push_back(graph.describe(node));
    }
    return match;
}

List<int64_t> scheduleWithin(const List<int>& schedule, int64_t first, int64_t end) {
    List<int64_t> own;
    for (int block : schedule)
        if (block >= first && block < end) own.push_back(block);
    return own;
}

namespace {

Merging mergingOfOperators(const Graph& graph) {
    std::set<int> blocks;
    std::set<std::string> methods;
    for (const Node& node : graph.nodes) {
        if (!isBackbone(node)) continue;
        methods.insert(node.getString("method", "mpm"));
        for (int64_t block : node.getInts("schedule"))
            blocks.insert(checkedCast<int>(block));
    }
    const std::string method = *methods.begin();
    if (methods.size() > 1)
        throw Refusal("the segments of the encoder have the methods '" + method + "' and '" +
                      *methods.rbegin() + "': the file is damaged");
    return {method, List<int>(blocks.begin(), blocks.end())};
}

List<int> scheduleOfMetadata(const Graph& graph) {
    const auto stored = graph.metadata.find("mpm.schedule");
    if (stored == graph.metadata.end()) return {};
    try {
        List<int> schedule;
        for (const nlohmann::json& block : nlohmann::json::parse(stored->second)) {
            if (!block.is_number_integer()) throw Refusal(kBadSchedule);
            schedule.push_back(checkedCast<int>(block.get<int64_t>()));
        }
        return schedule;
    } catch (const nlohmann::json::exception&) {
        throw Refusal(kBadSchedule);
    }
}

}  // namespace

Merging mergingOf(const Graph& graph) {
    if (std::any_of(graph.nodes.begin(), graph.nodes.end(), isBackbone)) return mergingOfOperators(graph);
    return {"mpm", scheduleOfMetadata(graph)};
}

void setMerging(Graph& graph, const Merging& merging) {
    for (Node& node : graph.nodes) {
        if (!isBackbone(node)) continue;
        node.attributes.erase("schedule");
        node.attributes.erase("method");
        if (merging.method != "mpm") node.set("method", merging.method);
        const int64_t first = node.getInt("first_block", 0);
        const int64_t end = checkedSum<int64_t>(first, node.getInt("blocks", 0));
        const List<int64_t> own = scheduleWithin(merging.schedule, first, end);
        if (!own.empty()) node.set("schedule", own);
    }
}

}  // namespace mpm::models
