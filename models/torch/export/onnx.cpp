#include "models/torch/export/onnx.hpp"

#include <nlohmann/json.hpp>

#include "models/torch/export/graph_writer.hpp"

namespace mpm::models {
namespace {

class Exporter {
public:
    Exporter(Segmenter& model, Norms norms)
        : m_model(model), m_norms(norms), m_vit(model->options().vit), m_graph("segmenter", 13) {}

    GraphWriter& run();

private:
    using Name = const std::string&;
    std::string parameter(Name name);
    std::string scalar(double value) { return m_graph.constant(torch::full({}, value)); }
    std::string transpose(Name x, const std::vector<int64_t>& order);
    torch::Tensor value(Name name) { return m_model->named_parameters()[name].detach(); }
    std::string product(Name x, torch::Tensor weight, torch::Tensor bias, Name name, Name norm);
    std::string linear(Name x, Name prefix, Name norm = {});
    std::string standardise(Name x);
    std::string norm(Name x, Name prefix);
    std::string gelu(Name x);
    std::string attention(Name x, Name prefix, int64_t tokens, int64_t heads);
    std::string block(Name x, Name prefix, int64_t tokens, int64_t heads);
    std::string slice(Name x, int64_t from, int64_t to);
    std::string unitRows(Name x);
    std::string embed();
    std::string encode();
    std::string toGrid(Name rows);
    std::string decodeMask(Name tokens);

    Segmenter& m_model;
    Norms m_norms;
    const VitOptions& m_vit;
    GraphWriter m_graph;
};

std::string Exporter::parameter(Name name) {
    return m_graph.constant(m_model->named_parameters()[name], name);
}

std::string Exporter::transpose(Name x, const std::vector<int64_t>& order) {
    const auto y = m_graph.node("Transpose", {x});
    m_graph.with("perm", order);
    return y;
}

/// x W + bias. `norm` is the layer norm before it; with Norms::Folded its weights are folded into W and bias.
std::string Exporter::product(Name x, torch::Tensor weight, torch::Tensor bias, Name name, Name norm) {
    if (!norm.empty() && m_norms == Norms::Folded) {
        const auto shift = torch::matmul(value(norm + ".bias"), weight);
        bias = bias.defined() ? bias + shift : shift;
        weight = value(norm + ".weight").unsqueeze(1) * weight;
    }
    const auto rows = m_graph.node("MatMul", {x, m_graph.constant(weight, name)});
    return bias.defined() ? m_graph.node("Add", {rows, m_graph.constant(bias, name + ".bias")}) : rows;
}

std::string Exporter::linear(Name x, Name prefix, Name norm) {
    return product(x, value(prefix + ".weight").t(), value(prefix + ".bias"), prefix, norm);
}

std::string Exporter::standardise(Name x) {
    const auto meanOf = [&](Name rows) {
        const auto mean = m_graph.node("ReduceMean", {rows});
        m_graph.with("axes", std::vector<int64_t>{-1}).with("keepdims", int64_t{1});
        return mean;
    };
    const auto centred = m_graph.node("Sub", {x, meanOf(x)});
    const auto variance = meanOf(m_graph.node("Pow", {centred, scalar(2.0)}));
    const auto deviation = m_graph.node("Sqrt", {m_graph.node("Add", {variance, scalar(1e-5)})});
    return m_graph.node("Div", {centred, deviation});
}

std::string Exporter::norm(Name x, Name prefix) {
    const auto rows = standardise(x);
    if (m_norms == Norms::Folded) return rows;
    const auto scaled = m_graph.node("Mul", {rows, parameter(prefix + ".weight")});
    return m_graph.node("Add", {scaled, parameter(prefix + ".bias")});
}

std::string Exporter::gelu(Name x) {
    const auto erf = m_graph.node("Erf", {m_graph.node("Div", {x, scalar(std::sqrt(2.0))})});
    const auto product = m_graph.node("Mul", {x, m_graph.node("Add", {erf, scalar(1.0)})});
    return m_graph.node("Mul", {product, scalar(0.5)});
}

std::string Exporter::attention(Name x, Name prefix, int64_t tokens, int64_t heads) {
    const int64_t head = m_vit.dim / heads;
    const auto qkv =
        m_graph.node("Reshape", {linear(norm(x, prefix + ".norm1"), prefix + ".attn.qkv", prefix + ".norm1"),
                                 m_graph.shape({1, tokens, 3, heads, head})});
    const auto parts = transpose(qkv, {2, 0, 3, 1, 4});
    const auto part = [&](int64_t index) {
        const auto one =
            m_graph.node("Gather", {parts, m_graph.constant(torch::tensor(index, torch::kInt64))});
        m_graph.with("axis", int64_t{0});
        return one;
    };
    // Scaled before the product: OpenCV 4.6 loses a factor after a product of two variables.
    const auto query = m_graph.node("Mul", {part(0), scalar(1.0 / std::sqrt(static_cast<double>(head)))});
    const auto key = part(1), value = part(2);
    const auto scaled = m_graph.node("MatMul", {query, transpose(key, {0, 1, 3, 2})});
    const auto weights = m_graph.node("Softmax", {scaled});
    m_graph.with("axis", int64_t{-1});
    const auto mixed = transpose(m_graph.node("MatMul", {weights, value}), {0, 2, 1, 3});
    return linear(m_graph.node("Reshape", {mixed, m_graph.shape({1, tokens, m_vit.dim})}),
                  prefix + ".attn.proj");
}

std::string Exporter::block(Name x, Name prefix, int64_t tokens, int64_t heads) {
    const auto attended = m_graph.node("Add", {x, attention(x, prefix, tokens, heads)});
    const auto hidden =
        gelu(linear(norm(attended, prefix + ".norm2"), prefix + ".mlp.fc1", prefix + ".norm2"));
    return m_graph.node("Add", {attended, linear(hidden, prefix + ".mlp.fc2")});
}

std::string Exporter::slice(Name x, int64_t from, int64_t to) {
    return m_graph.node("Slice", {x, m_graph.shape({from}), m_graph.shape({to}), m_graph.shape({1})});
}

std::string Exporter::embed() {
    const auto patches = m_graph.node("Conv", {"input", parameter("encoder.patch_embed.proj.weight"),
                                               parameter("encoder.patch_embed.proj.bias")});
    const std::vector<int64_t> side{m_vit.patch, m_vit.patch};
    m_graph.with("kernel_shape", side).with("strides", side);
    const int64_t count = m_vit.patches();
    const auto rows =
        transpose(m_graph.node("Reshape", {patches, m_graph.shape({1, m_vit.dim, count})}), {0, 2, 1});
    std::vector<std::string> all{parameter("encoder.cls_token")};
    if (m_vit.distilled) all.push_back(parameter("encoder.dist_token"));
    all.push_back(rows);
    const auto tokens = m_graph.node("Concat", all);
    m_graph.with("axis", int64_t{1});
    return m_graph.node("Add", {tokens, parameter("encoder.pos_embed")});
}

std::string Exporter::encode() {
    const int64_t tokens = m_vit.patches() + m_vit.specialTokens();
    auto x = embed();
    for (int64_t i = 0; i < m_vit.depth; ++i)
        x = block(x, "encoder.blocks." + std::to_string(i), tokens, m_vit.heads);
    return slice(norm(x, "encoder.norm"), m_vit.specialTokens(), tokens);
}

std::string Exporter::unitRows(Name x) {
    if (m_norms == Norms::Written) {
        const auto length = m_graph.node("ReduceL2", {x});
        m_graph.with("axes", std::vector<int64_t>{-1}).with("keepdims", int64_t{1});
        return m_graph.node("Div", {x, length});
    }
    // OpenCV 4.6 computes ReduceL2 wrongly, so the norm uses the operators of layer norms.
    const auto squares = m_graph.node("ReduceMean", {m_graph.node("Pow", {x, scalar(2.0)})});
    m_graph.with("axes", std::vector<int64_t>{-1}).with("keepdims", int64_t{1});
    const auto rows = m_graph.node("Div", {x, m_graph.node("Sqrt", {squares})});
    return m_graph.node("Mul", {rows, scalar(1.0 / std::sqrt(static_cast<double>(m_vit.dim)))});
}

/// Masks as [1, classes, gridHeight, gridWidth].
std::string Exporter::toGrid(Name rows) {
    const std::vector<int64_t> dims{1, m_model->options().classes, m_vit.gridHeight(), m_vit.gridWidth()};
    return m_graph.node("Reshape", {transpose(rows, {0, 2, 1}), m_graph.shape(dims)});
}

std::string Exporter::decodeMask(Name tokens) {
    const auto& options = m_model->options();
    const int64_t patches = m_vit.patches(), all = patches + options.classes;
    const auto projected = linear(tokens, "decoder.proj_dec", "encoder.norm");
    auto x = m_graph.node("Concat", {projected, parameter("decoder.cls_emb")});
    m_graph.with("axis", int64_t{1});
    const int64_t heads = std::max<int64_t>(1, m_vit.dim / 64);
    for (int64_t i = 0; i < options.decoderDepth; ++i)
        x = block(x, "decoder.blocks." + std::to_string(i), all, heads);
    const std::string last = "decoder.decoder_norm";
    x = norm(x, last);
    const auto project = [&](int64_t from, int64_t to, Name weight) {
        return unitRows(product(slice(x, from, to), value(weight), {}, weight, last));
    };
    const auto image = project(0, patches, "decoder.proj_patch"),
               classes = project(patches, all, "decoder.proj_classes");
    auto products = m_graph.node("MatMul", {image, transpose(classes, {0, 2, 1})});
    // OpenCV 4.6 fuses arithmetic into a product of two variables and loses it; a Reshape keeps them apart.
    if (m_norms == Norms::Folded)
        products = m_graph.node("Reshape", {products, m_graph.shape({1, patches, options.classes})});
    const auto masks = norm(products, "decoder.mask_norm");
    if (m_norms == Norms::Written) return toGrid(masks);
    // No product follows the last norm. OpenCV 4.6 can multiply along the channels of an image.
    const auto byChannel = [&](Name name) { return m_graph.constant(value(name).reshape({-1, 1, 1}), name); };
    const auto scaled = m_graph.node("Mul", {toGrid(masks), byChannel("decoder.mask_norm.weight")});
    return m_graph.node("Add", {scaled, byChannel("decoder.mask_norm.bias")});
}

GraphWriter& Exporter::run() {
    const auto& options = m_model->options();
    m_graph.input("input", {1, 3, m_vit.height, m_vit.width});
    const auto tokens = encode();
    const auto grid = options.decoder == "mask" ? decodeMask(tokens)
                                                : toGrid(linear(tokens, "decoder.head", "encoder.norm"));
    const std::vector<int64_t> full{1, options.classes, m_vit.height, m_vit.width};
    const auto none = m_graph.constant(torch::empty({0}));
    const auto logits = m_graph.node("Resize", {grid, none, none, m_graph.shape(full)});
    m_graph.with("mode", std::string("linear"))
        .with("coordinate_transformation_mode", std::string("half_pixel"));
    m_graph.output(logits, "logits", full);
    return m_graph;
}

void describe(GraphWriter& graph, const SegmenterOptions& options, const pipeline::Classes& classes) {
    nlohmann::json palette = nlohmann::json::array();
    for (const auto& color : classes.palette)
        palette.push_back({color[0], color[1], color[2]});
    graph.metadata("mpm.labels", nlohmann::json(classes.names).dump());
    graph.metadata("mpm.palette", palette.dump());
    graph.metadata("mpm.mean", nlohmann::json(options.normalisation.mean).dump());
    graph.metadata("mpm.std", nlohmann::json(options.normalisation.deviation).dump());
    graph.metadata("mpm.size", nlohmann::json({options.vit.height, options.vit.width}).dump());
}

}  // namespace

void exportOnnx(Segmenter& model, const pipeline::Classes& classes, const std::string& path, Norms norms) {
    TORCH_CHECK(classes.count() == model->options().classes, "the model has ", model->options().classes,
                " classes, the class list ", classes.count());
    torch::NoGradGuard noGrad;
    Exporter exporter(model, norms);
    auto& graph = exporter.run();
    describe(graph, model->options(), classes);
    graph.save(path);
}

}  // namespace mpm::models
