#include "models/torch/export/onnx.hpp"

#include <nlohmann/json.hpp>

#include "base/pending_file.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/graph_builder.hpp"

namespace mpm::models {
namespace {

using Ints = List<int64_t>;

// Writes the graph. In these functions, an `int` is the index of a value in the graph. A `Name` is the name
// of a parameter of the model, or a prefix of such names.
class Exporter {
public:
    Exporter(Segmenter& model, Norms norms)
        : m_model(model), m_norms(norms), m_vit(model->options().vit), m_graph(13) {}

    GraphBuilder& run();

private:
    using Name = const std::string&;
    int parameter(Name name) { return constant(value(name), name); }
    int constant(const torch::Tensor& tensor, Name name) { return m_graph.constant(tensorOf(tensor), name); }
    int scalar(double value) { return m_graph.number(static_cast<float>(value)); }
    int transpose(int x, const Ints& order);
    torch::Tensor value(Name name) { return m_model->named_parameters()[name].detach(); }
    int product(int x, torch::Tensor weight, torch::Tensor bias, Name name, Name norm);
    int linear(int x, Name prefix, Name norm = {});
    int standardise(int x);
    int norm(int x, Name prefix);
    int gelu(int x);
    int attention(int x, Name prefix, int64_t tokens, int64_t heads);
    int block(int x, Name prefix, int64_t tokens, int64_t heads);
    int slice(int x, int64_t from, int64_t to);
    int unitRows(int x);
    int embed(int image);
    int encode(int image);
    int toGrid(int rows, int64_t channels);
    int decodeMask(int tokens);
    void decodeBoxes(int tokens);
    void joinNeighbours(int boxes, int logits);

    Segmenter& m_model;
    Norms m_norms;
    const VitOptions& m_vit;
    GraphBuilder m_graph;
};

int Exporter::transpose(int x, const Ints& order) {
    const auto y = m_graph.node("Transpose", {x});
    m_graph.with("perm", Attribute::of(order));
    return y;
}

/// Writes x W + bias. `norm` names the layer norm before the product. With Norms::Folded, W and bias include
/// the weights of this norm.
int Exporter::product(int x, torch::Tensor weight, torch::Tensor bias, Name name, Name norm) {
    if (!norm.empty() && m_norms == Norms::Folded) {
        const auto shift = torch::matmul(value(norm + ".bias"), weight);
        bias = bias.defined() ? bias + shift : shift;
        weight = value(norm + ".weight").unsqueeze(1) * weight;
    }
    const auto rows = m_graph.node("MatMul", {x, constant(weight, name)});
    return bias.defined() ? m_graph.node("Add", {rows, constant(bias, name + ".bias")}) : rows;
}

int Exporter::linear(int x, Name prefix, Name norm) {
    return product(x, value(prefix + ".weight").t(), value(prefix + ".bias"), prefix, norm);
}

int Exporter::standardise(int x) {
    const auto meanOf = [&](int rows) {
        const auto mean = m_graph.node("ReduceMean", {rows});
        m_graph.with("axes", Attribute::of(Ints{-1})).with("keepdims", Attribute::of(int64_t{1}));
        return mean;
    };
    const auto centred = m_graph.node("Sub", {x, meanOf(x)});
    const auto variance = meanOf(m_graph.node("Pow", {centred, scalar(2.0)}));
    const auto deviation = m_graph.node("Sqrt", {m_graph.node("Add", {variance, scalar(1e-5)})});
    return m_graph.node("Div", {centred, deviation});
}

int Exporter::norm(int x, Name prefix) {
    const auto rows = standardise(x);
    if (m_norms == Norms::Folded) return rows;
    const auto scaled = m_graph.node("Mul", {rows, parameter(prefix + ".weight")});
    return m_graph.node("Add", {scaled, parameter(prefix + ".bias")});
}

int Exporter::gelu(int x) {
    const auto erf = m_graph.node("Erf", {m_graph.node("Div", {x, scalar(std::sqrt(2.0))})});
    const auto product = m_graph.node("Mul", {x, m_graph.node("Add", {erf, scalar(1.0)})});
    return m_graph.node("Mul", {product, scalar(0.5)});
}

int Exporter::attention(int x, Name prefix, int64_t tokens, int64_t heads) {
    const int64_t head = m_vit.dim / heads;
    const auto qkv =
        m_graph.node("Reshape", {linear(norm(x, prefix + ".norm1"), prefix + ".attn.qkv", prefix + ".norm1"),
                                 m_graph.ints({1, tokens, 3, heads, head})});
    const auto parts = transpose(qkv, {2, 0, 3, 1, 4});
    const auto part = [&](int64_t index) {
        const auto one = m_graph.node("Gather", {parts, m_graph.constant(Tensor::ints({}, index))});
        m_graph.with("axis", Attribute::of(int64_t{0}));
        return one;
    };
    // Scales the query before the product, because OpenCV 4.6 drops a factor after a product of two
    // variables.
    const auto query = m_graph.node("Mul", {part(0), scalar(1.0 / std::sqrt(static_cast<double>(head)))});
    const auto key = part(1), value = part(2);
    const auto scaled = m_graph.node("MatMul", {query, transpose(key, {0, 1, 3, 2})});
    const auto weights = m_graph.node("Softmax", {scaled});
    m_graph.with("axis", Attribute::of(int64_t{-1}));
    const auto mixed = transpose(m_graph.node("MatMul", {weights, value}), {0, 2, 1, 3});
    return linear(m_graph.node("Reshape", {mixed, m_graph.ints({1, tokens, m_vit.dim})}),
                  prefix + ".attn.proj");
}

int Exporter::block(int x, Name prefix, int64_t tokens, int64_t heads) {
    const auto attended = m_graph.node("Add", {x, attention(x, prefix, tokens, heads)});
    const auto hidden =
        gelu(linear(norm(attended, prefix + ".norm2"), prefix + ".mlp.fc1", prefix + ".norm2"));
    return m_graph.node("Add", {attended, linear(hidden, prefix + ".mlp.fc2")});
}

int Exporter::slice(int x, int64_t from, int64_t to) {
    return m_graph.node("Slice", {x, m_graph.ints({from}), m_graph.ints({to}), m_graph.ints({1})});
}

int Exporter::embed(int image) {
    const auto patches = m_graph.node("Conv", {image, parameter("encoder.patch_embed.proj.weight"),
                                               parameter("encoder.patch_embed.proj.bias")});
    const Attribute side = Attribute::of(Ints{m_vit.patch, m_vit.patch});
    m_graph.with("kernel_shape", side).with("strides", side);
    const int64_t count = m_vit.patches();
    const auto rows =
        transpose(m_graph.node("Reshape", {patches, m_graph.ints({1, m_vit.dim, count})}), {0, 2, 1});
    List<int> all{parameter("encoder.cls_token")};
    if (m_vit.distilled) all.push_back(parameter("encoder.dist_token"));
    all.push_back(rows);
    const auto tokens = m_graph.node("Concat", all);
    m_graph.with("axis", Attribute::of(int64_t{1}));
    return m_graph.node("Add", {tokens, parameter("encoder.pos_embed")});
}

int Exporter::encode(int image) {
    const int64_t tokens = m_vit.patches() + m_vit.specialTokens();
    auto x = embed(image);
    for (int64_t i = 0; i < m_vit.depth; ++i)
        x = block(x, "encoder.blocks." + std::to_string(i), tokens, m_vit.heads);
    return slice(norm(x, "encoder.norm"), m_vit.specialTokens(), tokens);
}

int Exporter::unitRows(int x) {
    if (m_norms == Norms::Written) {
        const auto length = m_graph.node("ReduceL2", {x});
        m_graph.with("axes", Attribute::of(Ints{-1})).with("keepdims", Attribute::of(int64_t{1}));
        return m_graph.node("Div", {x, length});
    }
    // OpenCV 4.6 computes ReduceL2 wrongly, so the norm uses the operators of layer norms.
    const auto squares = m_graph.node("ReduceMean", {m_graph.node("Pow", {x, scalar(2.0)})});
    m_graph.with("axes", Attribute::of(Ints{-1})).with("keepdims", Attribute::of(int64_t{1}));
    const auto rows = m_graph.node("Div", {x, m_graph.node("Sqrt", {squares})});
    return m_graph.node("Mul", {rows, scalar(1.0 / std::sqrt(static_cast<double>(m_vit.dim)))});
}

int Exporter::toGrid(int rows, int64_t channels) {
    const Ints dims{1, channels, m_vit.gridHeight(), m_vit.gridWidth()};
    return m_graph.node("Reshape", {transpose(rows, {0, 2, 1}), m_graph.ints(dims)});
}

int Exporter::decodeMask(int tokens) {
    const auto& options = m_model->options();
    const int64_t patches = m_vit.patches(), all = patches + options.classes;
    const auto projected = linear(tokens, "decoder.proj_dec", "encoder.norm");
    auto x = m_graph.node("Concat", {projected, parameter("decoder.cls_emb")});
    m_graph.with("axis", Attribute::of(int64_t{1}));
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
    // OpenCV 4.6 fuses arithmetic into a preceding MatMul of two variables, which then ignores the
    // arithmetic. A Reshape in between prevents the fusion.
    if (m_norms == Norms::Folded)
        products = m_graph.node("Reshape", {products, m_graph.ints({1, patches, options.classes})});
    const auto masks = norm(products, "decoder.mask_norm");
    if (m_norms == Norms::Written) return toGrid(masks, options.classes);
    // No product follows the last norm, so no product can include the norm's weights. But OpenCV 4.6 can
    // multiply the channels of an image by weights.
    const auto byChannel = [&](Name name) { return constant(value(name).reshape({-1, 1, 1}), name); };
    const auto scaled =
        m_graph.node("Mul", {toGrid(masks, options.classes), byChannel("decoder.mask_norm.weight")});
    return m_graph.node("Add", {scaled, byChannel("decoder.mask_norm.bias")});
}

void Exporter::decodeBoxes(int tokens) {
    const auto hidden = gelu(linear(tokens, "decoder.hidden", "encoder.norm"));
    const auto grid = torch::tensor({double(m_vit.gridWidth()), double(m_vit.gridHeight())}, torch::kFloat32);
    const auto part = [&](Name name, const torch::Tensor& weight, const torch::Tensor& bias) {
        return product(hidden, weight.t(), bias, name, {});
    };
    // The weights convert centres and sizes from patches to shares of the image. The bias adds the positions
    // of the patches.
    const auto places = patchCentres(m_vit.gridHeight(), m_vit.gridWidth()).unsqueeze(0);
    const auto centres = part("decoder.centres", value("decoder.centres.weight") / grid.unsqueeze(1),
                              (value("decoder.centres.bias") + places) / grid);
    const auto sizes = m_graph.node("Exp", {part("decoder.sizes", value("decoder.sizes.weight"),
                                                 value("decoder.sizes.bias") - grid.log())});
    const auto boxes = m_graph.node("Concat", {centres, sizes});
    m_graph.with("axis", Attribute::of(int64_t{2}));
    joinNeighbours(toGrid(boxes, 4), toGrid(linear(hidden, "decoder.scores"), m_model->options().classes));
}

/// Writes joinNeighbours() of segmenter.hpp. Multiplies and divides only tensors of equal sizes, because
/// OpenCV 4.6 broadcasts few others.
void Exporter::joinNeighbours(int boxes, int logits) {
    constexpr int64_t kSides = 4;
    const int64_t classes = m_model->options().classes;
    const auto sum = [this](int x) {
        const auto y = m_graph.node("Conv", {x, constant(torch::ones({kSides, 1, 3, 3}), "ones")});
        m_graph.with("kernel_shape", Attribute::of(Ints{3, 3})).with("pads", Attribute::of(Ints{1, 1, 1, 1}));
        m_graph.with("group", Attribute::of(kSides));
        return y;
    };
    const auto toRows = [this](int grid, int64_t channels, const char* name) {
        const auto columns = m_graph.node("Reshape", {grid, m_graph.ints({1, channels, m_vit.patches()})});
        m_graph.output(transpose(columns, {0, 2, 1}), name, {1, m_vit.patches(), channels});
    };
    const auto cubes = m_graph.node("Pow", {m_graph.node("Sigmoid", {logits}), scalar(3)});
    const auto weight = m_graph.node("Conv", {cubes, constant(torch::ones({kSides, classes, 1, 1}), "ones"),
                                              constant(torch::full({kSides}, kLeastWeight), "least")});
    m_graph.with("kernel_shape", Attribute::of(Ints{1, 1}));
    toRows(m_graph.node("Div", {sum(m_graph.node("Mul", {boxes, weight})), sum(weight)}), kSides, "boxes");
    const auto largest = m_graph.node("MaxPool", {logits});
    m_graph.with("kernel_shape", Attribute::of(Ints{3, 3})).with("pads", Attribute::of(Ints{1, 1, 1, 1}));
    const auto peaks = m_graph.node("Sub", {m_graph.node("Mul", {logits, scalar(1 + kPeak)}),
                                            m_graph.node("Mul", {largest, scalar(kPeak)})});
    toRows(peaks, classes, "scores");
}

GraphBuilder& Exporter::run() {
    const auto& options = m_model->options();
    const auto tokens = encode(m_graph.input("input", {1, 3, m_vit.height, m_vit.width}));
    if (options.detects()) {
        decodeBoxes(tokens);
        return m_graph;
    }
    const auto grid = options.decoder == "mask"
                          ? decodeMask(tokens)
                          : toGrid(linear(tokens, "decoder.head", "encoder.norm"), options.classes);
    const Ints full{1, options.classes, m_vit.height, m_vit.width};
    const auto none = m_graph.constant(Tensor::floats({0}));
    const auto logits = m_graph.node("Resize", {grid, none, none, m_graph.ints(full)});
    m_graph.with("mode", Attribute::of(std::string("linear")))
        .with("coordinate_transformation_mode", Attribute::of(std::string("half_pixel")));
    m_graph.output(logits, "logits", full);
    return m_graph;
}

void describe(GraphBuilder& graph, const SegmenterOptions& options, const pipeline::Classes& classes) {
    nlohmann::json palette = nlohmann::json::array();
    for (const auto& color : classes.palette)
        palette.push_back({color[0], color[1], color[2]});
    graph.metadata("mpm.labels", nlohmann::json(classes.names).dump());
    graph.metadata("mpm.palette", palette.dump());
    if (options.detects())
        graph.metadata("mpm.detections", nlohmann::json({{"boxes", "boxes"},
                                                         {"scores", "scores"},
                                                         {"format", "cxcywh"},
                                                         {"scale", "unit"},
                                                         {"activation", "sigmoid"}})
                                             .dump());
    graph.metadata("mpm.mean", nlohmann::json(options.normalisation.mean).dump());
    graph.metadata("mpm.std", nlohmann::json(options.normalisation.deviation).dump());
    graph.metadata("mpm.size", nlohmann::json({options.vit.height, options.vit.width}).dump());
}

}  // namespace

Tensor tensorOf(const torch::Tensor& tensor) {
    const auto data = tensor.detach().to(torch::kCPU).contiguous();
    const Shape shape(data.sizes().begin(), data.sizes().end());
    if (data.scalar_type() == torch::kInt64) {
        const auto* from = data.data_ptr<int64_t>();
        return Tensor::vector(Ints(from, from + data.numel())).reshaped(shape);
    }
    TORCH_CHECK(data.scalar_type() == torch::kFloat32, "constants are f32 or i64");
    const auto* from = data.data_ptr<float>();
    return Tensor::floats(shape, List<float>(from, from + data.numel()));
}

void exportOnnx(Segmenter& model, const pipeline::Classes& classes, const std::string& path, Norms norms) {
    TORCH_CHECK(classes.count() == model->options().classes, "the model has ", model->options().classes,
                " classes, the class list ", classes.count());
    torch::NoGradGuard noGrad;
    Exporter exporter(model, norms);
    auto& graph = exporter.run();
    describe(graph, model->options(), classes);
    PendingFile file(path, Access::Umask);
    writeModel(graph.graph(), file.path(), path);
    file.keep();
}

}  // namespace mpm::models
