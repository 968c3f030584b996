#include "base/checked.hpp"
#include "models/torch/export/onnx.hpp"

namespace mpm::models {
namespace {

class SharingWriter {
public:
    SharingWriter(Graph& graph, const Sharing& sharing, int64_t rows, int64_t columns)
        : m_graph(graph), m_sharing(sharing), m_rows(rows), m_columns(columns) {}

    void run();

private:
    Node& add(const std::string& op, const char* domain, const List<int>& inputs,
              const List<std::string>& outputs);
    int only(const Node& node) const { return node.outputs[0]; }
    int convolution(int x, const torch::Tensor& weight, const torch::Tensor& bias,
                    const torch::nn::Conv2d& like, const std::string& name);
    int layer(int x, const ConvNorm& layer, const std::string& name);
    int policy(int image);
    int coarseTokens(int image, const Node& embed, int64_t special);
    void follow(Node& encoder, int tokens, int map);

    Graph& m_graph;
    const Sharing& m_sharing;
    int64_t m_rows, m_columns;
};

Node& SharingWriter::add(const std::string& op, const char* domain, const List<int>& inputs,
                         const List<std::string>& outputs) {
    Node node;
    node.op = op;
    node.domain = domain;
    node.name = outputs[0];
    node.inputs = inputs;
    for (const auto& name : outputs)
        node.outputs.push_back(m_graph.addValue(name));
    m_graph.nodes.push_back(std::move(node));
    return m_graph.nodes.back();
}

int SharingWriter::convolution(int x, const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::nn::Conv2d& like, const std::string& name) {
    const int w = m_graph.addConstant(name + ".weight", tensorOf(weight)),
              b = m_graph.addConstant(name + ".bias", tensorOf(bias));
    const int64_t kernel = weight.size(2), stride = like->options.stride()->at(0), pad = kernel / 2;
    Node& node = add("Conv", "", {x, w, b}, {name});
    node.attributes["kernel_shape"] = Attribute::of(List<int64_t>{kernel, kernel});
    node.attributes["strides"] = Attribute::of(List<int64_t>{stride, stride});
    node.attributes["pads"] = Attribute::of(List<int64_t>{pad, pad, pad, pad});
    node.attributes["group"] = Attribute::of(like->options.groups());
    return only(node);
}

int SharingWriter::layer(int x, const ConvNorm& layer, const std::string& name) {
    const auto [weight, bias] = layer->folded();
    const int y = convolution(x, weight, bias, layer->conv, name);
    if (!layer->activates()) return y;
    // Writes ReLU6 without Clip, because OpenCV 4.6 reads Clip only in its form before opset 11.
    const int six = m_graph.addConstant(name + ".six", Tensor::floats({1, 1, 1, 1}, 6)),
              positive = only(add("Relu", "", {y}, {name + ".relu"}));
    Node& least = add("MpmArithmetic", "mpm", {positive, six}, {name + ".relu6"});
    least.attributes["operation"] = Attribute::of(std::string("min"));
    return only(least);
}

int SharingWriter::policy(int image) {
    PolicyNet net = m_sharing.policy;
    int x = layer(image, net->stem, "policy.stem");
    for (size_t i = 0; i < net->blocks->size(); ++i) {
        const auto& block = *net->blocks[i]->as<InvertedResidualImpl>();
        const std::string name = "policy." + std::to_string(i);
        int y = layer(x, block.expand, name + ".expand");
        y = layer(y, block.depthwise, name + ".depthwise");
        y = layer(y, block.project, name + ".project");
        x = block.hasShortcut() ? only(add("Add", "", {x, y}, {name + ".sum"})) : y;
    }
    return convolution(x, net->head->weight, net->head->bias, net->head, "policy.head");
}

/// Embeds the half-size image with the same patch filters, and adds to each token the mean of four positions.
int SharingWriter::coarseTokens(int image, const Node& embed, int64_t special) {
    const Tensor& table = m_graph.constant(embed.input(1));
    const int weight = embed.input(2);
    const auto patch = embed.attributes.at("patch");
    const auto positions =
        torch::from_blob(const_cast<float*>(table.f().data()), {table.dim(0), table.dim(1)}, torch::kFloat32)
            .slice(0, special)
            .unsqueeze(0);
    const int means =
        m_graph.addConstant("embed.coarse.table", tensorOf(superpatchMeans(positions, m_rows, m_columns)[0]));
    const int64_t side = patch.as<List<int64_t>>()[0] / 2;
    Node& half = add("MpmResize", "mpm", {image}, {"embed.half"});
    half.attributes["size"] = Attribute::of(
        List<int64_t>{checkedProduct<int64_t>(m_rows, side), checkedProduct<int64_t>(m_columns, side)});
    const int halved = only(half);
    Node& coarse = add("MpmEmbed", "mpm", {halved, means, weight}, {"embed.coarse"});
    coarse.attributes["first"] = Attribute::of(int64_t{0});
    coarse.attributes["patch"] = patch;
    return only(coarse);
}

/// Makes `tokens` the encoder's first input, and inserts `map` as the second input.
void SharingWriter::follow(Node& encoder, int tokens, int map) {
    encoder.inputs[0] = tokens;
    encoder.inputs.insert(encoder.inputs.begin() + 1, map);
    const std::string names = encoder.getString("inputs", "");
    TORCH_CHECK(names.compare(0, 7, "tokens ") == 0 && names.compare(0, 11, "tokens map ") != 0,
                "sharing is added to encoders without a map");
    encoder.attributes["inputs"] = Attribute::of("tokens map" + names.substr(6));
}

void SharingWriter::run() {
    int embed = kAbsent, queries = kAbsent, encoder = kAbsent, decoder = kAbsent;
    for (int k = 0; k < static_cast<int>(m_graph.nodes.size()); ++k) {
        const Node& node = m_graph.nodes[k];
        const bool decodes = node.getString("role", "backbone") == "decoder";
        if (node.op == "MpmEmbed") (node.has("patch") ? embed : queries) = k;
        if (node.op == "MpmEncoder") (decodes ? decoder : encoder) = k;
    }
    TORCH_CHECK(embed != kAbsent && encoder != kAbsent, "sharing is added to the fused form of a Segmenter");
    const int64_t special = m_graph.nodes[encoder].getInt("special_tokens", 1);
    const int image = m_graph.nodes[embed].input(0), fine = m_graph.nodes[encoder].input(0);
    const int coarse = coarseTokens(image, Node(m_graph.nodes[embed]), special);
    Node& share = add("MpmShare", "mpm", {policy(image), fine, coarse}, {"share.tokens", "share.map"});
    share.attributes["shared"] = Attribute::of(m_sharing.shared);
    share.attributes["grid"] = Attribute::of(List<int64_t>{m_rows, m_columns});
    share.attributes["special_tokens"] = Attribute::of(special);
    const int tokens = share.outputs[0], map = share.outputs[1];
    Node& backbone = m_graph.nodes[encoder];
    follow(backbone, tokens, map);
    if (decoder != kAbsent) {
        backbone.attributes["map_output"] = Attribute::of(int64_t{1});
        backbone.outputs.push_back(m_graph.addValue("encoder.map"));
        Node& second = m_graph.nodes[decoder];
        follow(second, second.inputs[0], m_graph.nodes[encoder].outputs.back());
        // The rows after the patches are the class embeddings.
        const int64_t rows = m_graph.constant(m_graph.nodes.at(queries).input(1)).dim(0);
        second.attributes["trailing_tokens"] =
            Attribute::of(rows - checkedProduct<int64_t>(m_rows, m_columns));
    }
    m_graph.sort();
}

}  // namespace

void addSharing(Graph& graph, const Sharing& sharing, int64_t rows, int64_t columns) {
    const torch::NoGradGuard noGrad;
    SharingWriter(graph, sharing, rows, columns).run();
}

}  // namespace mpm::models
