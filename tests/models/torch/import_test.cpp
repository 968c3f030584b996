#include "models/torch/import/weights.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <gtest/gtest.h>
#include <torch/serialize.h>

#include "models/torch/files/file_error.hpp"
#include "tests/models/torch/small_model.hpp"

namespace fs = std::filesystem;
using namespace mpm::models;

namespace {

SegmenterOptions importable() {
    auto options = smallOptions(64, 64, 5);
    options.vit.dim = 128;
    options.vit.heads = 2;
    return options;
}

NamedTensors stateOf(Segmenter& model) {
    NamedTensors tensors;
    for (const auto& entry : model->named_parameters())
        tensors[entry.key()] = entry.value().detach().clone();
    return tensors;
}

/// Returns the bytes of the file that torch.save writes for {"model": {...}, "epoch": 3}.
std::string torchZip(const NamedTensors& tensors) {
    c10::Dict<std::string, torch::Tensor> state;
    for (const auto& [name, tensor] : tensors)
        state.insert(name, tensor);
    c10::impl::GenericDict file(c10::StringType::get(), c10::AnyType::get());
    file.insert("model", c10::IValue(state));
    file.insert("epoch", c10::IValue(3));
    const auto bytes = torch::pickle_save(c10::IValue(file));
    return {bytes.begin(), bytes.end()};
}

std::string safetensors(const NamedTensors& tensors) {
    std::string header = "{\"__metadata__\":{\"format\":\"pt\"}", data;
    for (const auto& [name, tensor] : tensors) {
        std::string shape;
        for (int64_t dim : tensor.sizes())
            shape += (shape.empty() ? "" : ",") + std::to_string(dim);
        const size_t bytes = static_cast<size_t>(tensor.numel()) * 4;
        header += ",\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" + shape + "],\"data_offsets\":[" +
                  std::to_string(data.size()) + "," + std::to_string(data.size() + bytes) + "]}";
        data.append(static_cast<const char*>(tensor.contiguous().data_ptr()), bytes);
    }
    header += "}";
    std::string length(8, '\0');
    for (int i = 0; i < 8; ++i)
        length[static_cast<size_t>(i)] = static_cast<char>(header.size() >> (8 * i));
    return length + header + data;
}

void expectSameOutputs(Segmenter& a, Segmenter& b) {
    torch::NoGradGuard noGrad;
    const auto& vit = a->options().vit;
    const auto image = torch::randn({1, 3, vit.height, vit.width});
    EXPECT_TRUE(torch::equal(a->forward(image), b->forward(image)));
}

TEST(Import, SegmenterCheckpointOfTorchSave) {
    auto model = smallModel(importable(), 3);
    auto tensors = stateOf(model);
    tensors["encoder.head.weight"] = torch::randn({10, 128});
    auto imported = importWeights(readTorchZip(torchZip(tensors)), {});
    expectSameOutputs(model, imported.model);
    EXPECT_TRUE(imported.report.missing.empty());
    EXPECT_EQ(imported.report.leftOver, std::vector<std::string>{"encoder.head.weight"});
    EXPECT_EQ(imported.report.used.size(), tensors.size() - 1);
}

TEST(Import, BareBackboneOfSafetensors) {
    auto options = importable();
    options.vit.distilled = true;
    auto model = smallModel(options, 4);
    NamedTensors backbone;
    for (const auto& [name, tensor] : stateOf(model)) {
        if (name.rfind("encoder.", 0) == 0) backbone[name.substr(8)] = tensor;
    }
    ImportOptions wanted;
    wanted.classes = 7;
    auto imported = importWeights(readSafetensors(safetensors(backbone)), wanted);
    EXPECT_EQ(imported.model->options().classes, 7);
    EXPECT_FALSE(imported.report.missing.empty());
    torch::NoGradGuard noGrad;
    const auto image = torch::randn({2, 3, 64, 64});
    EXPECT_TRUE(torch::equal(model->encoder(image), imported.model->encoder(image)));
}

TEST(Import, JaxNamesAndLayouts) {
    auto model = smallModel(importable(), 5);
    const auto state = stateOf(model);
    const auto from = [&](const std::string& name) { return state.at("encoder." + name); };
    NamedTensors jax{{"cls", from("cls_token")},
                     {"Transformer/posembed_input/pos_embedding", from("pos_embed")},
                     {"embedding/kernel", from("patch_embed.proj.weight").permute({2, 3, 1, 0}).contiguous()},
                     {"embedding/bias", from("patch_embed.proj.bias")},
                     {"Transformer/encoder_norm/scale", from("norm.weight")},
                     {"Transformer/encoder_norm/bias", from("norm.bias")},
                     {"head/kernel", torch::randn({128, 10})}};
    for (int i = 0; i < 3; ++i) {
        const std::string to = "Transformer/encoderblock_" + std::to_string(i),
                          block = "blocks." + std::to_string(i);
        for (const auto& [theirs, ours] :
             {std::pair{"/LayerNorm_0", ".norm1"}, std::pair{"/LayerNorm_2", ".norm2"}}) {
            jax[to + theirs + "/scale"] = from(block + ours + ".weight");
            jax[to + theirs + "/bias"] = from(block + ours + ".bias");
        }
        for (const auto& [theirs, ours] :
             {std::pair{"/MlpBlock_3/Dense_0", ".mlp.fc1"}, std::pair{"/MlpBlock_3/Dense_1", ".mlp.fc2"}}) {
            jax[to + theirs + "/kernel"] = from(block + ours + ".weight").t().contiguous();
            jax[to + theirs + "/bias"] = from(block + ours + ".bias");
        }
        const std::string attention = to + "/MultiHeadDotProductAttention_1";
        const auto weights = from(block + ".attn.qkv.weight").chunk(3),
                   biases = from(block + ".attn.qkv.bias").chunk(3);
        const char* parts[] = {"/query", "/key", "/value"};
        for (size_t p = 0; p < 3; ++p) {
            jax[attention + parts[p] + "/kernel"] = weights[p].t().reshape({128, 2, 64}).contiguous();
            jax[attention + parts[p] + "/bias"] = biases[p].reshape({2, 64});
        }
        jax[attention + "/out/kernel"] =
            from(block + ".attn.proj.weight").t().reshape({2, 64, 128}).contiguous();
        jax[attention + "/out/bias"] = from(block + ".attn.proj.bias");
    }
    auto imported = importWeights(jax, {});
    EXPECT_EQ(imported.report.leftOver, std::vector<std::string>{"encoder.jax:head/kernel"});
    torch::NoGradGuard noGrad;
    const auto image = torch::randn({1, 3, 64, 64});
    EXPECT_TRUE(torch::equal(model->encoder(image), imported.model->encoder(image)));
}

TEST(Import, PositionsGoToTheAskedSize) {
    auto model = smallModel(importable(), 6);
    ImportOptions wanted;
    wanted.height = 96;
    wanted.width = 160;
    auto imported = importWeights(stateOf(model), wanted);
    EXPECT_EQ(imported.model->encoder->posEmbed.size(1), 6 * 10 + 1);
    auto wrong = stateOf(model);
    wrong["encoder.pos_embed"] = torch::randn({1, 12, 128});
    EXPECT_ANY_THROW(importWeights(wrong, {}));
}

/// A small file can name many blocks. The importer must reject the file, because a model with so many blocks
/// would need much memory.
TEST(Import, SizesWithoutWeightsAreRejected) {
    auto model = smallModel(importable(), 7);
    auto tensors = stateOf(model);
    for (int i = 3; i < 128; ++i)
        tensors["encoder.blocks." + std::to_string(i) + ".attn.qkv.weight"] = torch::ones({1});
    EXPECT_ANY_THROW(importWeights(tensors, {}));
    for (const char* name : {"encoder.pos_embed", "decoder.cls_emb"}) {
        tensors = stateOf(model);
        tensors[name] = torch::ones({0, int64_t{1} << 32, 1});
        EXPECT_ANY_THROW(importWeights(tensors, {})) << name;
    }
}

TEST(Import, RefusesWhatDoesNotFit) {
    auto model = smallModel(importable(), 7);
    for (const char* gone : {"encoder.pos_embed", "encoder.cls_token", "encoder.blocks.1.attn.proj.bias",
                             "encoder.patch_embed.proj.weight"}) {
        auto tensors = stateOf(model);
        tensors.erase(gone);
        EXPECT_ANY_THROW(importWeights(tensors, {})) << gone;
    }
    auto tensors = stateOf(model);
    tensors["encoder.norm.weight"] = torch::ones({64});
    EXPECT_ANY_THROW(importWeights(tensors, {}));
}

/// Damages a file at many places. `read` may return other values or throw, but must not crash, hang or read
/// beyond the file.
template <typename Read>
void survivesDamage(const std::string& sound, Read read) {
    ASSERT_FALSE(read(sound).empty());
    const auto attempt = [&](const std::string& bytes) {
        try {
            read(bytes);
        } catch (const std::exception&) {
        }
    };
    for (size_t length = 0; length < sound.size(); length += 1 + sound.size() / 400)
        attempt(sound.substr(0, length));
    uint64_t state = 1;
    for (int i = 0; i < 4000; ++i) {
        std::string bytes = sound;
        for (int flips = 0; flips < 1 + i % 4; ++flips) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            bytes[(state >> 33) % bytes.size()] = static_cast<char>(state >> 25);
        }
        attempt(bytes);
    }
}

NamedTensors few() {
    return {{"a", torch::randn({3, 4})}, {"b.c", torch::randn({5})}, {"d", torch::randn({2, 2, 2})}};
}

TEST(Import, DamagedTorchFilesAreRefused) {
    survivesDamage(torchZip(few()), readTorchZip);
}

TEST(Import, DamagedSafetensorsAreRefused) {
    survivesDamage(safetensors(few()), readSafetensors);
}

TEST(Import, LiesAboutSizesAreRefused) {
    const auto file = [](const std::string& entry) {
        std::string length(8, '\0');
        length[0] = static_cast<char>(entry.size());
        return length + entry + std::string(16, 'x');
    };
    for (const char* entry :
         {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,64]}})",
          R"({"a":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}})",
          R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})",
          R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[8,0]}})",
          R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}})",
          R"({"a":{"dtype":"?"}})", R"([1])"}) {
        EXPECT_ANY_THROW(readSafetensors(file(entry))) << entry;
    }
}

/// Runs Python to write files with the frameworks themselves.
class PythonTest : public testing::Test {
protected:
    void run(const std::string& imports, const std::string& script) {
        if (std::system(("/usr/bin/python3 -c '" + imports + "' 2>/dev/null").c_str()) != 0)
            GTEST_SKIP() << "no python3 with: " << imports;
        m_path = fs::temp_directory_path() / ("mpm_import_" + std::to_string(getpid()));
        std::ofstream(m_path.string() + ".py") << imports << "\n" << script;
        m_ran = std::system(("/usr/bin/python3 " + m_path.string() + ".py " + m_path.string()).c_str()) == 0;
        ASSERT_TRUE(m_ran);
    }
    void TearDown() override {
        fs::remove(m_path);
        fs::remove(m_path.string() + ".py");
        fs::remove(m_path.string() + ".npz");
    }
    fs::path m_path;
    bool m_ran = false;
};

TEST_F(PythonTest, TorchSave) {
    run("import torch, sys, argparse, collections", R"(
big = torch.arange(24.).reshape(4, 6)
state = collections.OrderedDict(a=big[1:3, ::2], t=big.t(), h=big.half(), b=big.bfloat16(), p=torch.nn.Parameter(torch.ones(2)), n=torch.tensor(7))
torch.save({"model": state, "args": argparse.Namespace(lr=0.1, name="x", deep=[1, (2, None, True)]), "epoch": 300, "big": 2**40}, sys.argv[1])
)");
    if (!m_ran) return;
    const auto tensors = readTensors(m_path.string());
    const auto big = torch::arange(24, torch::kFloat32).reshape({4, 6});
    ASSERT_EQ(tensors.size(), 6u);
    EXPECT_TRUE(torch::equal(tensors.at("a"), big.slice(0, 1, 3).slice(1, 0, 6, 2)));
    EXPECT_TRUE(torch::equal(tensors.at("t"), big.t()));
    EXPECT_TRUE(torch::equal(tensors.at("h"), big));
    EXPECT_TRUE(torch::equal(tensors.at("b"), big));
    EXPECT_TRUE(torch::equal(tensors.at("p"), torch::ones({2})));
    EXPECT_EQ(tensors.at("n").item<int64_t>(), 7);
}

TEST_F(PythonTest, PicklesThatWouldRunCodeDoNot) {
    run("import torch, sys, os", R"(
class Evil:
    def __reduce__(self):
        return os.system, ("touch " + sys.argv[1] + ".ran",)
torch.save({"model": {"a": torch.ones(2)}, "evil": Evil()}, sys.argv[1])
)");
    if (!m_ran) return;
    EXPECT_EQ(readTensors(m_path.string()).size(), 1u);
    EXPECT_FALSE(fs::exists(m_path.string() + ".ran"));
}

TEST_F(PythonTest, Npz) {
    run("import numpy, sys", R"(
a = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
numpy.savez_compressed(sys.argv[1] + ".npz", **{"Transformer/a": a, "f": numpy.asfortranarray(a), "d": a.astype(numpy.float64), "s": numpy.float32(3)})
)");
    if (!m_ran) return;
    const auto tensors = readTensors(m_path.string() + ".npz");
    const auto a = torch::arange(12, torch::kFloat32).reshape({3, 4});
    EXPECT_TRUE(torch::equal(tensors.at("Transformer/a"), a));
    EXPECT_TRUE(torch::equal(tensors.at("f"), a));
    EXPECT_TRUE(torch::equal(tensors.at("d"), a));
    EXPECT_EQ(tensors.at("s").item<float>(), 3);
    std::ifstream file(m_path.string() + ".npz", std::ios::binary);
    survivesDamage(std::string(std::istreambuf_iterator<char>(file), {}), readNpz);
}

TEST_F(PythonTest, TorchFilesThatWouldFillTheMemoryAreRefused) {
    run("import torch, sys, collections", R"(
class Negative:
    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, (torch.ones(8).storage(), 0, (-4,), (1,), False, collections.OrderedDict())
class Backward:
    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, (torch.ones(8).storage(), 7, (4,), (-1,), False, collections.OrderedDict())
one = torch.ones(1 << 20)
for name, state in {"expanded": {"a": torch.zeros(1).expand(1 << 33)},
                    "shared": {str(i): one for i in range(5000)},
                    "negative": {"a": Negative()}, "backward": {"a": Backward()},
                    "past": {"a": torch.ones(4), "b": 1}}.items():
    torch.save(state, sys.argv[1] + "." + name)
open(sys.argv[1], "w").close()
)");
    if (!m_ran) return;
    for (const char* name : {".expanded", ".shared", ".negative", ".backward"}) {
        EXPECT_ANY_THROW(readTensors(m_path.string() + name)) << name;
        fs::remove(m_path.string() + name);
    }
    EXPECT_EQ(readTensors(m_path.string() + ".past").size(), 1u);
    fs::remove(m_path.string() + ".past");
}

TEST_F(PythonTest, ArchivesOfPackedZerosAreRefused) {
    run("import numpy, sys", R"(
numpy.savez_compressed(sys.argv[1] + ".npz", a=numpy.zeros(1 << 25, numpy.float32))
)");
    if (!m_ran) return;
    ASSERT_LT(fs::file_size(m_path.string() + ".npz"), 1u << 20);
    EXPECT_ANY_THROW(readTensors(m_path.string() + ".npz"));
}

/// A safetensors file begins with the length of the header. The bytes of this length may equal the first
/// bytes of a zip (PK) or of an old pickle.
TEST(Import, SafetensorsOfAnyHeaderLengthAreKnown) {
    const auto path = fs::temp_directory_path() / ("mpm_header_" + std::to_string(getpid()));
    for (const size_t size : {size_t{0x4B50}, size_t{0x0280}}) {
        std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
        header.resize(size, ' ');
        std::string length(8, '\0');
        length[0] = static_cast<char>(size);
        length[1] = static_cast<char>(size >> 8);
        std::ofstream(path, std::ios::binary) << length << header << std::string(4, '\0');
        EXPECT_EQ(readTensors(path.string()).size(), 1u) << size;
    }
    fs::remove(path);
}

TEST(Import, SafetensorsThatShareTheirDataAreRefused) {
    const std::string entry = R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
                              R"("b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
    std::string length(8, '\0');
    length[0] = static_cast<char>(entry.size());
    EXPECT_ANY_THROW(readSafetensors(length + entry + std::string(16, 'x')));
}

TEST(Import, VariantsThatContradictOrAreNoneAreRefused) {
    auto model = smallModel(importable(), 8);
    ImportOptions options;
    options.variant.depth = 4;
    EXPECT_ANY_THROW(importWeights(stateOf(model), options));
    options.variant = {};
    options.variant.heads = 3;
    EXPECT_ANY_THROW(importWeights(stateOf(model), options)) << "128 values do not go to 3 heads";
    const auto path = fs::temp_directory_path() / ("mpm_variant_" + std::to_string(getpid()));
    for (const char* text :
         {"", "[1, 2]", "net_kwargs: 3", "net_kwargs: {n_heads: -1}", "net_kwargs: {n_heads: 9999999999}",
          "net_kwargs: {n_heads: [}", "net_kwargs: {image_size: [1, 2, 3]}", "net_kwargs: {d_model: many}"}) {
        std::ofstream(path) << text;
        EXPECT_ANY_THROW(readVariant(path.string())) << text;
    }
    std::ofstream(path) << "net_kwargs: " << std::string(60000, '[');
    EXPECT_ANY_THROW(readVariant(path.string())) << "deep";
    std::ofstream(path) << "net_kwargs: {n_heads: 3} #" << std::string(70000, ' ');
    EXPECT_ANY_THROW(readVariant(path.string())) << "long";
    fs::remove(path);
}

}  // namespace
