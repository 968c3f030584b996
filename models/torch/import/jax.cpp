#include "models/torch/import/weights.hpp"

namespace mpm::models {
namespace {

class JaxReader {
public:
    explicit JaxReader(const NamedTensors& tensors) : m_tensors(tensors) {}

    NamedTensors run() {
        NamedTensors out;
        out["cls_token"] = take("cls");
        out["pos_embed"] = take("Transformer/posembed_input/pos_embedding");
        out["patch_embed.proj.weight"] = take("embedding/kernel", 4).permute({3, 2, 0, 1}).contiguous();
        out["patch_embed.proj.bias"] = take("embedding/bias");
        norm(out, "norm", "Transformer/encoder_norm");
        for (int i = 0; m_tensors.count(blockName(i) + "/LayerNorm_0/scale"); ++i)
            block(out, i);
        for (const auto& [name, tensor] : m_tensors) {  // lets the report list unused tensors, such as heads
            if (!m_used.count(name)) out["jax:" + name] = tensor;
        }
        return out;
    }

private:
    static std::string blockName(int i) { return "Transformer/encoderblock_" + std::to_string(i); }

    torch::Tensor take(const std::string& name, int64_t dims = -1) {
        const auto found = m_tensors.find(name);
        TORCH_CHECK(found != m_tensors.end(), "the file lacks ", name);
        TORCH_CHECK(dims < 0 || found->second.dim() == dims, name, " has ", found->second.dim(),
                    " dimensions, expected ", dims);
        m_used[name] = true;
        return found->second;
    }

    void norm(NamedTensors& out, const std::string& to, const std::string& from) {
        out[to + ".weight"] = take(from + "/scale");
        out[to + ".bias"] = take(from + "/bias");
    }

    void dense(NamedTensors& out, const std::string& to, const std::string& from) {
        out[to + ".weight"] = take(from + "/kernel", 2).t().contiguous();
        out[to + ".bias"] = take(from + "/bias");
    }

    /// Reads [dim, heads, size] for query, key and value, and [heads, size, dim] for the projection.
    void attention(NamedTensors& out, const std::string& to, const std::string& from) {
        std::vector<torch::Tensor> weights, biases;
        for (const char* part : {"query", "key", "value"}) {
            const auto kernel = take(from + "/" + part + "/kernel", 3);
            weights.push_back(kernel.reshape({kernel.size(0), -1}).t());
            biases.push_back(take(from + "/" + part + "/bias").reshape({-1}));
        }
        out[to + ".qkv.weight"] = torch::cat(weights).contiguous();
        out[to + ".qkv.bias"] = torch::cat(biases);
        const auto kernel = take(from + "/out/kernel", 3);
        out[to + ".proj.weight"] = kernel.reshape({-1, kernel.size(2)}).t().contiguous();
        out[to + ".proj.bias"] = take(from + "/out/bias");
    }

    void block(NamedTensors& out, int i) {
        const std::string to = "blocks." + std::to_string(i), from = blockName(i);
        norm(out, to + ".norm1", from + "/LayerNorm_0");
        attention(out, to + ".attn", from + "/MultiHeadDotProductAttention_1");
        norm(out, to + ".norm2", from + "/LayerNorm_2");
        dense(out, to + ".mlp.fc1", from + "/MlpBlock_3/Dense_0");
        dense(out, to + ".mlp.fc2", from + "/MlpBlock_3/Dense_1");
    }

    const NamedTensors& m_tensors;
    std::map<std::string, bool> m_used;
};

}  // namespace

NamedTensors fromJax(const NamedTensors& tensors) {
    return JaxReader(tensors).run();
}

}  // namespace mpm::models
