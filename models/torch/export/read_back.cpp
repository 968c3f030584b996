#include "models/torch/export/onnx.hpp"

#include <algorithm>

#include <mpm/mpm.hpp>

#include "base/printable.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/list.hpp"
#include "models/torch/files/file_error.hpp"
#include "models/torch/model/segmenter.hpp"

namespace mpm::models {
namespace {

constexpr const char* kNotOurs = "no fused model of 'mpm-models export'; export weights to train them on";

torch::Tensor torchOf(const Tensor& tensor) {
    const auto values = tensor.f();
    const List<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    return torch::from_blob(const_cast<float*>(values.data()), shape, torch::kFloat32).clone();
}

class OwnOnnx {
public:
    explicit OwnOnnx(const Graph& graph) : m_graph(graph) {
        for (const Node& node : graph.nodes) {
            const bool decodes = node.getString("role", "backbone") == "decoder";
            if (node.op == "MpmEncoder") (decodes ? m_decoder : m_encoder) = &node;
            if (node.op == "MpmEmbed" && node.has("patch") && !m_embed) m_embed = &node;
            if (node.op == "MpmEmbed" && !node.has("patch")) m_queries = &node;
        }
        demand(m_encoder && m_embed, kNotOurs);
        const auto isBoxes = [](const Port& port) { return port.name == "boxes"; };
        demand(std::none_of(graph.outputs.begin(), graph.outputs.end(), isBoxes),
               "the file of a detector is not read back; take best.pt of its training");
    }

    int64_t heads() const { return m_encoder->getInt("heads", 0); }
    NamedTensors tensors() {
        embedding();
        blocks(*m_encoder, "encoder.", "encoder.norm");
        if (m_decoder)
            maskDecoder();
        else
            linear("decoder.head");
        return std::move(m_tensors);
    }

private:
    torch::Tensor constantOf(int value) const {
        demand(m_graph.isConstant(value) && m_graph.constant(value).isFloat(), kNotOurs);
        return torchOf(m_graph.constant(value));
    }
    torch::Tensor named(const std::string& name) const {
        for (size_t value = 0; value < m_graph.values.size(); ++value)
            if (m_graph.values[value].name == name) return constantOf(static_cast<int>(value));
        throw FileError(kNotOurs);
    }
    void linear(const std::string& name) {
        m_tensors[name + ".weight"] = named(name).t().contiguous();
        m_tensors[name + ".bias"] = named(name + ".bias");
    }
    void embedding();
    void blocks(const Node& encoder, const std::string& prefix, const std::string& norm);
    void maskDecoder();

    const Graph& m_graph;
    const Node *m_encoder = nullptr, *m_decoder = nullptr, *m_embed = nullptr, *m_queries = nullptr;
    NamedTensors m_tensors;
};

/// Reads special tokens, positions and patch filters. Each row of MpmEmbed's table is the sum of a position
/// and either a special token or the bias, and the terms cannot be separated. So the sum becomes the special
/// token or the patch's position, and the other term becomes zero.
void OwnOnnx::embedding() {
    const auto table = constantOf(m_embed->input(1)), weight = constantOf(m_embed->input(2));
    const int64_t special = m_encoder->getInt("special_tokens", 1);
    const auto patch = m_embed->getInts("patch");
    demand(table.dim() == 2 && weight.dim() == 2 && patch.size() == 2 && (special == 1 || special == 2) &&
               patch[0] == patch[1] && patch[0] > 0 && patch[0] <= 64 &&
               weight.size(0) == 3 * patch[0] * patch[0] && table.size(0) > special,
           kNotOurs);
    const int64_t dim = table.size(1);
    auto positions = table.clone();
    positions.narrow(0, 0, special).zero_();
    m_tensors["encoder.pos_embed"] = positions.unsqueeze(0);
    m_tensors["encoder.cls_token"] = table.narrow(0, 0, 1).unsqueeze(0);
    if (special == 2) m_tensors["encoder.dist_token"] = table.narrow(0, 1, 1).unsqueeze(0);
    m_tensors["encoder.patch_embed.proj.weight"] = weight.t().reshape({dim, 3, patch[0], patch[1]});
    m_tensors["encoder.patch_embed.proj.bias"] = torch::zeros({dim});
}

/// Reads the weights of blocks: "3.qkv.weight" becomes "encoder.blocks.3.attn.qkv.weight". Transposes
/// matrices, because products are y = x W in the file.
void OwnOnnx::blocks(const Node& encoder, const std::string& prefix, const std::string& norm) {
    demand(
        std::abs(encoder.getFloat("epsilon", 1e-6f) - 1e-5f) < 1e-9f && encoder.getInt("first_block", 0) == 0,
        kNotOurs);
    std::istringstream names(encoder.getString("inputs", ""));
    size_t input = 0;
    for (std::string name; names >> name; ++input) {
        if (name == "tokens" || name == "map") continue;
        auto value = constantOf(encoder.input(input));
        if (value.dim() == 2) value = value.t().contiguous();
        const size_t number = name.find('.'), part = name.find('.', number + 1);
        if (name.compare(0, number, "norm") == 0) {
            m_tensors[norm + name.substr(number)] = value;
            continue;
        }
        const std::string layer = part == std::string::npos ? "" : name.substr(number + 1, part - number - 1);
        const bool attends = layer == "qkv" || layer == "proj", narrows = layer == "fc1" || layer == "fc2";
        demand(attends || narrows || layer == "norm1" || layer == "norm2", kNotOurs);
        m_tensors[prefix + "blocks." + name.substr(0, number) +
                  (attends   ? ".attn"
                   : narrows ? ".mlp"
                             : "") +
                  name.substr(number)] = value;
    }
}

void OwnOnnx::maskDecoder() {
    demand(m_queries != nullptr, kNotOurs);
    linear("decoder.proj_dec");
    blocks(*m_decoder, "decoder.", "decoder.decoder_norm");
    const auto queries = constantOf(m_queries->input(1));
    const auto classes = named("decoder.mask_norm.weight").numel();
    demand(queries.dim() == 2 && queries.size(0) >= classes, kNotOurs);
    m_tensors["decoder.cls_emb"] = queries.slice(0, queries.size(0) - classes).unsqueeze(0);
    for (const char* name : {"decoder.mask_norm.weight", "decoder.mask_norm.bias"})
        m_tensors[name] = named(name);
    for (const char* name : {"decoder.proj_patch", "decoder.proj_classes"})
        m_tensors[name] = named(name);
}

std::string normalisationOf(const mpm::ModelInfo& info) {
    for (const char* name : {"vit", "deit"}) {
        const auto known = Normalisation::named(name);
        bool same = true;
        for (int c = 0; c < 3; ++c)
            same = same && info.mean[c] == known.mean[c] && info.std[c] == known.deviation[c];
        if (same) return name;
    }
    throw FileError("has a mean and deviation that are neither those of vit nor of deit");
}

// Removes the options of 'mpm convert' from a message about a limit, because mpm-models lacks these options.
std::string withoutOptions(std::string message) {
    message.resize(std::min(message.size(), message.find("; raise --max-")));
    for (const std::string option : {"--max-memory ", "--max-seconds "})
        if (const size_t place = message.find(option); place != std::string::npos)
            message.erase(place, option.size());
    return message;
}

}  // namespace

ExportedWeights readExported(const std::string& path) {
    try {
        const Job job({});
        const mpm::ModelInfo info = mpm::modelInfo(path);
        const Graph graph = refusing([&] { return readOwnModel(path); });
        OwnOnnx file(graph);
        return {file.tensors(), file.heads(), info.size.height, info.size.width, normalisationOf(info)};
    } catch (const Refusal& refusal) {
        throw FileError(printable(path) + ": " + printable(refusal.what()));
    } catch (const FileError& error) {
        throw FileError(printable(path) + ": " + error.err);
    } catch (const cv::Exception& error) {
        const std::string message = withoutOptions(printable(error.err));
        const bool namesIt = message.find(printable(path)) != std::string::npos;
        throw FileError(namesIt ? message : printable(path) + ": " + message);
    } catch (const c10::Error& problem) {
        throw FileError(printable(path) + ": " + printable(problem.what_without_backtrace()));
    }
}

}  // namespace mpm::models
