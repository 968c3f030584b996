#include "models/onnx/metadata.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <mpm/mpm.hpp>

namespace mpm::models {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double weightsOf(std::initializer_list<const Dense*> products) {
    double count = 0;
    for (const Dense* dense : products)
        if (dense->present()) count += static_cast<double>(dense->weight.size());
    return count;
}

double attentionWeights(const Block& block) {
    return weightsOf({&block.attention.qkv, &block.attention.proj});
}

double mlpWeights(const Block& block) {
    return weightsOf({&block.mlp.fc1, &block.mlp.gate, &block.mlp.fc2});
}

bool mergesBefore(const Conversion& c, int block) {
    return std::count(c.schedule.begin(), c.schedule.end(), block) > 0;
}

// Returns the usual number of image tokens in each block of the chain, and then the number after the chain,
// for decoders. Empty if the effect of the method is unknown.
std::vector<double> usualTokens(const Conversion& c, double image) {
    std::vector<double> tokens;
    for (int k = 0; k < c.blocks; ++k) {
        if (mergesBefore(c, k)) {
            const std::optional<double> left = usuallyLeft(c.method, image);
            if (!left) return {};
            image = *left;
        }
        tokens.push_back(image);
    }
    tokens.push_back(image);
    return tokens;
}

// Returns the number of tokens in each block of an encoder. `image`: number of image tokens in each block of
// the chain; empty if nothing merges.
std::vector<double> tokensAt(const EncoderSpec& encoder, const std::vector<double>& image) {
    std::vector<double> tokens(encoder.blocks.size(), static_cast<double>(encoder.tokens));
    for (size_t k = 0; k < tokens.size() && !image.empty(); ++k)
        tokens[k] += image[encoder.firstBlock + k] - static_cast<double>(encoder.imageTokens());
    return tokens;
}

// Returns the number of tokens in each block of a decoder that uses the backbone's merge map.
std::vector<double> mergedTokens(const EncoderSpec& decoder, const std::vector<double>& image) {
    const double others = static_cast<double>(decoder.tokens) - static_cast<double>(decoder.imageTokens());
    return std::vector<double>(decoder.blocks.size(), others + image.back());
}

// The number of windows in an image, and of padding rows in these windows; 1 and 0 if there are no windows.
struct Division {
    double windows = 1, padding = 0;
};

Division divisionOf(const EncoderSpec& encoder) {
    const Windows& windows = encoder.windows;
    if (!windows.present()) return {};
    const auto along = [](int64_t side, int64_t of) { return static_cast<double>((side + of - 1) / of); };
    const double count = along(encoder.gridRows, windows.rows) * along(encoder.gridColumns, windows.columns);
    const double whole = count * static_cast<double>(windows.rows) * static_cast<double>(windows.columns);
    return {count, whole - static_cast<double>(encoder.imageTokens())};
}

bool attendsInWindows(const EncoderSpec& encoder, size_t k) {
    const List<int>& global = encoder.windows.globalBlocks;
    const int block = encoder.firstBlock + static_cast<int>(k);
    return encoder.windows.present() && std::count(global.begin(), global.end(), block) == 0;
}

double mergeGflops(const EncoderSpec& encoder, const Conversion& c, const std::vector<double>& image) {
    double sum = 0;
    const double windows = divisionOf(encoder).windows;
    for (int k = 0; k < c.blocks; ++k) {
        if (!mergesBefore(c, k)) continue;
        MatchingSize size;
        size.tokens = (k > 0 ? image[k - 1] : static_cast<double>(encoder.imageTokens())) / windows;
        size.width = static_cast<double>(encoder.dim);
        size.keyWidth = static_cast<double>(c.attentionWidth) / c.heads;
        sum += windows * matchingCost(c.method, size);
    }
    return sum / 1e9;
}

// Returns the GFLOPs of all products in the graph, per image, except products within an MpmEncoder.
double restGflops(const Graph& graph, const Shapes& shapes, double batch) {
    double sum = 0;
    for (const Node& node : graph.nodes) {
        const bool product =
            node.op == "MatMul" || node.op == "Linear" || node.op == "Gemm" || node.op == "MpmLinear";
        if (product)
            sum += 2.0 * static_cast<double>(shapes.at.values[node.outputs[0]].size()) *
                   shapes.of(node.inputs[0]).back();
        if (node.op == "Conv" || node.op == "MpmConv") {
            const bool added = node.getString("residual", "none") != "none";
            const Shape& weight = shapes.of(node.inputs[added ? 2 : 1]);
            const int pixels = node.has("size") ? node.inputs[0] : node.outputs[0];
            const int64_t others = node.has("size") ? weight[0] : weight[1];
            sum +=
                2.0 * static_cast<double>(shapes.at.values[pixels].size()) * others * weight[2] * weight[3];
        }
        if (node.op == "MpmEmbed" && node.has("patch")) {
            const std::vector<int64_t> patch = node.getInts("patch");
            const Shape &image = shapes.of(node.inputs[0]), &weight = shapes.of(node.inputs[2]);
            if (patch.size() != 2 || patch[0] < 1 || patch[1] < 1) continue;
            sum += 2.0 * image[0] * (image[2] / patch[0]) * (image[3] / patch[1]) * weight[0] * weight[1];
        }
        if (node.op == "ConvTranspose" || node.op == "MpmConvTranspose") {
            const Shape &image = shapes.of(node.inputs[0]), &weight = shapes.of(node.inputs[1]);
            sum += 2.0 * static_cast<double>(elementCount(weight)) * image[0] * image[2] * image[3];
        }
    }
    return sum / batch / 1e9;
}

// Returns the GFLOPs of an encoder's blocks for an image. `tokens`: number of all tokens in each block.
double encoderGflops(const EncoderSpec& encoder, const std::vector<double>& tokens) {
    double sum = 0;
    for (size_t k = 0; k < encoder.blocks.size(); ++k) {
        const Division division = attendsInWindows(encoder, k) ? divisionOf(encoder) : Division();
        const double keys = (tokens[k] + division.padding) / division.windows;
        const double width = static_cast<double>(encoder.blocks[k].attention.qkv.weight.dim(1)) / 3;
        const double weights = attentionWeights(encoder.blocks[k]) + mlpWeights(encoder.blocks[k]);
        sum += 2 * tokens[k] * weights + 4.0 * tokens[k] * keys * width;
    }
    return sum / 1e9;
}

DecoderCost decoderCost(const EncoderSpec& encoder) {
    DecoderCost cost;
    cost.rows = static_cast<double>(encoder.tokens);
    cost.merged = encoder.takesMap;
    cost.width = static_cast<double>(encoder.blocks[0].attention.qkv.weight.dim(1)) / 3;
    for (const Block& block : encoder.blocks) {
        cost.attentionWeights.push_back(attentionWeights(block));
        cost.mlpWeights.push_back(mlpWeights(block));
    }
    return cost;
}

struct Ends {
    int input, output;  // values of the graph
};

// Returns the input and output of every encoder. In a converted model, these are the inputs and outputs of
// the MpmEncoder nodes, which are in the order of the encoders.
List<Ends> endsOf(const State& state) {
    List<Ends> ends;
    for (const EncoderSpec& encoder : state.match.encoders)
        if (encoder.output() >= 0) ends.push_back({encoder.input(), encoder.output()});
    for (const Node& node : state.graph.nodes)
        if (ends.size() < state.match.encoders.size() && node.domain == "mpm" && node.op == "MpmEncoder")
            ends.push_back({node.inputs[0], node.outputs[0]});
    return ends;
}

bool reads(const Graph& graph, int value, int source) {
    OpenValues open({value});
    for (int next; open.next(next);) {
        if (next == source) return true;
        if (const Node* node = graph.nodeOf(next)) open.add(node->inputs);
    }
    return false;
}

// Finds encoders that are listed as decoders, but do not read the backbone's output, such as a second run of
// the backbone on other crops.
List<char> besides(const State& state) {
    const List<EncoderSpec>& encoders = state.match.encoders;
    const List<Ends> ends = endsOf(state);
    List<char> beside(encoders.size(), 0);
    const auto backbone = static_cast<size_t>(state.match.backbone() - encoders.data());
    for (size_t k = 0; k < encoders.size() && ends.size() == encoders.size(); ++k)
        beside[k] = encoders[k].decoder && !reads(state.graph, ends[k].input, ends[backbone].output);
    return beside;
}

// Describes the decoder's blocks and the attention outside blocks; if there is neither, the kind of layers
// after the backbone.
std::string decoderOf(const State& state, const List<char>& beside) {
    int blocks = 0;
    bool merged = false;
    for (size_t k = 0; k < state.match.encoders.size(); ++k) {
        const EncoderSpec& encoder = state.match.encoders[k];
        if (!encoder.decoder || beside[k]) continue;
        blocks += static_cast<int>(encoder.blocks.size());
        merged |= encoder.takesMap;
    }
    std::string parts;
    if (blocks > 0)
        parts = std::to_string(blocks) + " transformer blocks" + (merged ? " on merged tokens" : "");
    if (const size_t outside = state.match.outside.size())
        parts += (parts.empty() ? "" : ", ") + ("attention in no block (" + std::to_string(outside)) + ")";
    if (!parts.empty()) return parts;
    return state.shapes.of(state.graph.outputs[0].value).size() == 4 ? "linear or convolutional" : "none";
}

// Adds a segment of the chain. If another segment follows, the output of the last block is the input of that
// segment, and is not listed as a tap.
void describeSegment(const EncoderSpec& segment, bool last, Conversion& c) {
    ++c.segments;
    for (const Tap& tap : segment.taps)
        if (last || tap.block != segment.endBlock() - 1) c.taps.push_back(tap.block);
    for (const Block& each : segment.blocks) {
        c.attentionWeights.push_back(attentionWeights(each));
        c.mlpWeights.push_back(mlpWeights(each));
        c.otherTokens.push_back(static_cast<int>(segment.tokens - segment.imageTokens()));
        c.windowed.push_back(attendsInWindows(segment, static_cast<size_t>(&each - segment.blocks.data())));
    }
}

std::string describe(const Windows& windows) {
    std::string text =
        cv::format("windows of %dx%d", static_cast<int>(windows.rows), static_cast<int>(windows.columns));
    if (windows.padding) text += " with padding";
    text += windows.globalBlocks.empty() ? ", no global block" : ", global blocks";
    for (const int block : windows.globalBlocks)
        text += " " + std::to_string(block);
    return text;
}

void describe(const Match& match, Conversion& c) {
    const EncoderSpec& encoder = *match.backbone();
    const Block& block = encoder.blocks[0];
    const Attention& a = block.attention;
    c.blocks = match.blocks();
    c.dim = static_cast<int>(encoder.dim);
    c.heads = a.heads;
    c.specialTokens = encoder.special;
    c.trailingTokens = encoder.trailing;
    c.imageTokens = static_cast<int>(encoder.imageTokens());
    c.grid = {static_cast<int>(encoder.gridColumns), static_cast<int>(encoder.gridRows)};
    c.norm = models::describe(a.norm.rule);
    c.activation = block.mlp.activation + (block.mlp.gate.present() ? ", gated" : "") +
                   (block.mlp.inner.present() ? ", normalised" : "") + (block.parallel ? ", parallel" : "");
    c.attention = cv::format("%d heads of %d", a.heads, static_cast<int>(a.qkv.weight.dim(1)) / 3 / a.heads);
    if (a.rope) c.attention += a.rope->interleaved ? ", rotary (interleaved)" : ", rotary (halves)";
    if (a.qNorm.present()) c.attention += ", queries and keys normalised";
    if (a.inner.present()) c.attention += ", result normalised";
    if (encoder.windows.present()) c.windows = describe(encoder.windows);
    c.attentionWidth = static_cast<int>(a.qkv.weight.dim(1)) / 3;
    c.windowCount = divisionOf(encoder).windows, c.padding = divisionOf(encoder).padding;
    const List<const EncoderSpec*> segments = match.segments();
    for (const EncoderSpec* segment : segments)
        describeSegment(*segment, segment == segments.back(), c);
}

// Describes blocks whose number of special and trailing tokens differs from the previous block's.
std::string laterTokens(const Conversion& c) {
    std::string text;
    for (size_t k = 1; k < c.otherTokens.size(); ++k) {
        if (c.otherTokens[k] == c.otherTokens[k - 1]) continue;
        text += cv::format("; %d not of the image from block %d on", c.otherTokens[k], static_cast<int>(k));
    }
    return text;
}

}  // namespace

std::string describe(const Conversion& c) {
    const std::string segments = c.segments > 1 ? cv::format(" in %d segments", c.segments) : "";
    std::string text = cv::format("encoder    %d blocks%s, width %d, %s\n", c.blocks, segments.c_str(), c.dim,
                                  c.attention.c_str());
    text += cv::format("           %s; %s\n", c.norm.c_str(), c.activation.c_str());
    text += cv::format("tokens     %d of the image", c.imageTokens);
    if (!c.grid.empty()) text += cv::format(" (%dx%d)", c.grid.height, c.grid.width);
    text += cv::format(", %d special", c.specialTokens);
    if (!c.windows.empty()) text += ", " + c.windows;
    if (c.trailingTokens > 0) text += cv::format(", %d behind", c.trailingTokens);
    text += laterTokens(c) + "\n";
    if (c.taps.size() > 1 || (!c.taps.empty() && c.taps[0] != c.blocks - 1)) {
        text += "taps       after blocks";
        for (int tap : c.taps)
            text += " " + std::to_string(tap);
        text += "\n";
    }
    text += "decoder    " + c.decoder + "\n";
    if (!c.detections.empty()) text += "detections " + c.detections + "\n";
    if (c.besideBlocks > 0)
        text += cv::format("beside     %d blocks of further encoders, which compute all tokens\n",
                           c.besideBlocks);
    text += cv::format("size       %dx%d, batch %s\n", c.size.height, c.size.width,
                       c.batch ? std::to_string(c.batch).c_str() : "dynamic");
    if (c.pixels.known) {
        const cv::Scalar &mean = c.pixels.mean, &deviation = c.pixels.deviation;
        text += cv::format("mean, std  %g %g %g, %g %g %g: ", mean[0], mean[1], mean[2], deviation[0],
                           deviation[1], deviation[2]) +
                c.pixels.origin + "\n";
    }
    text += cv::format("costs      %.2f M parameters, %.2f GFLOPs an image", c.parameters / 1e6, c.gflops);
    if (!c.schedule.empty() && std::isfinite(c.gflopsMerged)) {
        text += cv::format("; about %.2f with merging (%.0f %% less, if %.0f %% of the tokens are left)",
                           c.gflopsMerged, 100 * (1 - c.gflopsMerged / c.gflops),
                           100 * c.usualTokens.back() / c.imageTokens);
    }
    return text + "\n";
}

void summarise(const State& state, Conversion& c) {
    const Graph& graph = state.graph;
    const EncoderSpec& backbone = *state.match.backbone();
    describe(state.match, c);
    std::vector<char> seen(graph.values.size(), 0);
    for (const Node& node : graph.nodes) {
        for (int in : node.inputs) {
            if (in == kAbsent || seen.at(in)++ || !graph.isConstant(in) || !graph.constant(in).isFloat())
                continue;
            c.parameters += static_cast<double>(graph.constant(in).size());
        }
    }
    // Adds up all products, including attention; then finds how much merging saves.
    c.gflops =
        restGflops(graph, state.shapes, static_cast<double>(state.shapes.of(graph.inputs[0].value)[0]));
    for (const EncoderSpec& encoder : state.match.encoders) {
        const bool fused = encoder.output() < 0;  // an MpmEncoder, whose products are not nodes of the graph
        if (fused) c.gflops += encoderGflops(encoder, tokensAt(encoder, {}));
    }
    double behind = c.gflops;
    c.usualTokens = usualTokens(c, static_cast<double>(backbone.imageTokens()));
    const bool known = !c.usualTokens.empty();
    c.gflopsMerged = known ? mergeGflops(backbone, c, c.usualTokens) : kUnknown;
    for (const EncoderSpec* segment : state.match.segments()) {
        behind -= encoderGflops(*segment, tokensAt(*segment, {}));
        c.gflopsMerged += encoderGflops(*segment, tokensAt(*segment, c.usualTokens));
    }
    c.gflopsMerged += behind;
    c.gflopsAround = behind;
    for (const EncoderSpec& encoder : state.match.encoders) {
        if (!encoder.decoder) continue;
        c.decoders.push_back(decoderCost(encoder));
        const double full = encoderGflops(encoder, tokensAt(encoder, {}));
        c.gflopsAround -= full;
        if (encoder.takesMap && known)
            c.gflopsMerged -= full - encoderGflops(encoder, mergedTokens(encoder, c.usualTokens));
    }
    const List<char> beside = besides(state);
    c.decoder = decoderOf(state, beside);
    for (size_t k = 0; k < beside.size(); ++k)
        if (beside[k]) c.besideBlocks += static_cast<int>(state.match.encoders[k].blocks.size());
}

}  // namespace mpm::models
