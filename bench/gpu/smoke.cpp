// A test of libmpm_cuda alone, small enough for compute-sanitizer. Runs encoders with every option, odd sizes
// and ragged batches several times, and checks that all values are finite and all runs give the same bits.
//     smoke LIBRARY [REPEATS [SHAPE]]
#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "base/activation.hpp"
#include "mpm_layer/cuda/interface/entry.h"

namespace {

struct Shape {
    const char* name;
    int heads, headSize, hidden, blocks, special, tokens, images;
    bool extras, rotary, gated, bias;
};

const Shape kShapes[] = {
    {"plain", 3, 64, 768, 3, 1, 300, 3, false, false, false, false},
    {"odd", 5, 7, 33, 3, 2, 61, 2, true, true, false, true},
    {"wide heads", 1, 128, 200, 3, 0, 130, 2, true, false, true, false},
    {"heads of 80", 2, 80, 160, 3, 1, 129, 2, false, true, true, true},
    {"heads of 32", 4, 32, 128, 3, 5, 257, 4, false, true, false, false},
    {"one token", 2, 32, 64, 3, 1, 1, 2, false, false, false, false},
    {"no image token", 2, 32, 64, 3, 1, 0, 2, false, false, false, false},
    {"long", 3, 64, 256, 2, 1, 1500, 2, false, false, false, false},
};

void check(int status, const MpmCudaError& error, const char* what) {
    if (status == MPM_CUDA_OK) return;
    std::fprintf(stderr, "%s: %s\n", what, error.text);
    std::exit(1);
}

class Model {
public:
    Model(const Shape& shape, int precision) : m_shape(shape), m_random(7) {
        const int dim = shape.heads * shape.headSize;
        for (int b = 0; b < shape.blocks; ++b)
            m_blocks.push_back(block(dim));
        m_description.dim = dim;
        m_description.heads = shape.heads;
        m_description.head_size = shape.headSize;
        m_description.precision = precision;
        m_description.attention_scale = 1.0f / std::sqrt(static_cast<float>(shape.headSize));
        m_description.final_norm = norm(dim);
        m_description.blocks = m_blocks.data();
        m_description.block_count = shape.blocks;
    }

    const MpmCudaEncoderDescription& description() const { return m_description; }

    const float* values(size_t count, float deviation, float mean = 0) {
        std::normal_distribution<float> normal(mean, deviation);
        m_values.emplace_back(count);
        for (float& v : m_values.back())
            v = normal(m_random);
        return m_values.back().data();
    }

private:
    MpmCudaNorm norm(int size) { return {values(size, 0.1f, 1.0f), values(size, 0.1f), 1}; }
    MpmCudaNorm extra(int size) { return m_shape.extras ? norm(size) : MpmCudaNorm{}; }
    MpmCudaLinear linear(int depth, int columns) {
        return {values(static_cast<size_t>(depth) * columns, 1.0f / std::sqrt(static_cast<float>(depth))),
                values(columns, 0.1f), depth, columns};
    }

    MpmCudaBlock block(int dim) {
        MpmCudaBlock b{};
        b.norm1 = norm(dim);
        b.norm2 = norm(dim);
        b.q_norm = extra(m_shape.headSize);
        b.k_norm = extra(m_shape.headSize);
        b.attention_norm = extra(dim);
        b.mlp_norm = extra(m_shape.hidden);
        b.qkv = linear(dim, 3 * dim);
        b.projection = linear(dim, dim);
        b.fc1 = linear(dim, m_shape.hidden);
        if (m_shape.gated) b.gate = linear(dim, m_shape.hidden);
        b.fc2 = linear(m_shape.hidden, dim);
        if (m_shape.extras) b.scale1 = values(dim, 0.1f), b.scale2 = values(dim, 0.1f);
        if (m_shape.rotary && m_shape.tokens > 0) {
            const size_t size = static_cast<size_t>(m_shape.tokens) * m_shape.headSize;
            b.rotary = {values(size, 0.7f), values(size, 0.7f), 1, m_shape.tokens};
        }
        return b;
    }

    Shape m_shape;
    std::mt19937 m_random;
    std::deque<std::vector<float>> m_values;
    std::vector<MpmCudaBlock> m_blocks;
    MpmCudaEncoderDescription m_description{};
};

struct Result {
    std::vector<float> tokens;
    std::vector<int32_t> left;
};

Result run(const MpmCudaEntry& entry, MpmCudaEncoder* encoder, const Shape& shape,
           const MpmCudaInput& input) {
    MpmCudaError error{};
    MpmCudaSession* session = nullptr;
    check(entry.begin(encoder, &input, &session, &error), error, "begin");
    Result result;
    const int dim = shape.heads * shape.headSize;
    result.tokens.resize(static_cast<size_t>(input.images) * input.rows_per_image * dim, NAN);
    for (int b = 0; b < shape.blocks; ++b) {
        const MpmCudaStage stage{};
        if (b > 0) check(entry.reduce(session, &stage, &error), error, "reduce");
        check(entry.attend(session, b, &error), error, "attend");
        check(entry.run_mlp(session, b, &error), error, "run_mlp");
    }
    check(entry.emit(session, 1, result.tokens.data(), 0, &error), error, "emit");
    MpmCudaTimes times{};
    check(entry.finish(session, &times, &error), error, "finish");
    for (int i = 0; i < input.images; ++i) {
        int32_t left = 0;
        check(entry.stage_tokens(session, shape.blocks - 2, i, &left, &error), error, "stage_tokens");
        result.left.push_back(left);
    }
    entry.end(session);
    return result;
}

struct Way {
    const char* name;
    int32_t readCounts, fixed, graphs, nearest;
};

const Way kWays[] = {
    {"", 1, 0, MPM_CUDA_GRAPHS_NEVER, MPM_CUDA_NEAREST_TENSOR},
    {"plain nearest", 1, 0, MPM_CUDA_GRAPHS_NEVER, MPM_CUDA_NEAREST_PLAIN},
    {"graphs", 1, 0, MPM_CUDA_GRAPHS_ALWAYS, MPM_CUDA_NEAREST_TENSOR},
    {"graphs, no reading", 0, 0, MPM_CUDA_GRAPHS_ALWAYS, MPM_CUDA_NEAREST_TENSOR},
    {"fixed kernels", 1, 1, MPM_CUDA_GRAPHS_NEVER, MPM_CUDA_NEAREST_TENSOR},
};

bool sameBits(const Result& a, const Result& b) {
    return a.left == b.left &&
           std::memcmp(a.tokens.data(), b.tokens.data(), a.tokens.size() * sizeof(float)) == 0;
}

// Returns whether the batch's last image gives the same bits if the image runs alone. With the setting "fixed
// kernels" the bits must be equal.
bool independent(const MpmCudaEntry& entry, MpmCudaEncoder* encoder, const Shape& shape,
                 const MpmCudaInput& input, const Result& batch) {
    const size_t image = static_cast<size_t>(input.rows_per_image) * shape.heads * shape.headSize;
    MpmCudaInput alone = input;
    alone.images = 1;
    alone.tokens = input.tokens + (input.images - 1) * image;
    const Result result = run(entry, encoder, shape, alone);
    return result.left[0] == batch.left.back() &&
           std::memcmp(result.tokens.data(), batch.tokens.data() + (input.images - 1) * image,
                       image * sizeof(float)) == 0;
}

bool smoke(const MpmCudaEntry& entry, const Shape& shape, int precision, const Way& way, int repeats) {
    Model model(shape, precision);
    MpmCudaError error{};
    MpmCudaEncoder* encoder = nullptr;
    check(entry.create_encoder(0, &model.description(), &encoder, &error), error, "create_encoder");
    const int rows = shape.special + shape.tokens, dim = shape.heads * shape.headSize;
    MpmCudaInput input{};
    input.options.special_tokens = shape.special;
    input.options.activation =
        static_cast<int32_t>(shape.gated ? mpm::Activation::Silu : mpm::Activation::Gelu);
    input.options.rotary_halves = 1;
    for (MpmCudaNormRule* rule : {&input.options.norm, &input.options.inner_norm, &input.options.final_norm})
        rule->epsilon = 1e-6f;
    input.tokens = model.values(static_cast<size_t>(shape.images) * rows * dim, 1.0f);
    input.images = shape.images;
    input.rows_per_image = rows;
    input.key_bias = shape.bias ? model.values(rows, 1.0f) : nullptr;
    input.key_bias_images = 1;
    input.proportional = shape.bias;
    input.read_counts = way.readCounts;
    input.fixed_kernels = way.fixed;
    input.graphs = way.graphs;
    input.nearest = way.nearest;
    const Result first = run(entry, encoder, shape, input);
    bool finite = true, same = true;
    for (float v : first.tokens)
        finite = finite && std::isfinite(v);
    for (int r = 1; r < repeats; ++r)
        same = same && sameBits(first, run(entry, encoder, shape, input));
    const bool alone = !way.fixed || independent(entry, encoder, shape, input, first);
    entry.destroy_encoder(encoder);
    static const char* const kNames[] = {"f32", "tf32", "bf16", "f16"};
    std::printf("%-16s %-5s finite %s, same bits %s%s, tokens left %d of %d %s\n", shape.name,
                kNames[precision], finite ? "yes" : "NO", same ? "yes" : "NO",
                alone ? "" : ", DEPENDS ON THE BATCH", first.left[0], shape.tokens, way.name);
    return finite && same && alone;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "smoke LIBRARY [REPEATS [SHAPE]]\n");
        return 2;
    }
    void* library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const auto function = reinterpret_cast<MpmCudaEntryFunction>(dlsym(library, MPM_CUDA_ENTRY_NAME));
    const MpmCudaEntry* entry = function ? function(MPM_CUDA_ENTRY_VERSION) : nullptr;
    if (!entry || entry->size != sizeof(MpmCudaEntry)) {
        std::fprintf(stderr, "%s: another version\n", argv[1]);
        return 1;
    }
    int32_t devices = 0;
    MpmCudaError error{};
    check(entry->device_count(&devices, &error), error, "device_count");
    if (devices == 0) {
        std::fprintf(stderr, "there is no device\n");
        return 1;
    }
    const int repeats = argc > 2 ? std::atoi(argv[2]) : 2;
    bool good = true, any = false;
    for (const Shape& shape : kShapes) {
        if (argc > 3 && std::strcmp(argv[3], shape.name) != 0) continue;
        any = true;
        for (int precision : {MPM_CUDA_F32, MPM_CUDA_TF32, MPM_CUDA_BF16, MPM_CUDA_F16}) {
            for (const Way& way : kWays)
                good = smoke(*entry, shape, precision, way, repeats) && good;
        }
    }
    if (!any) {
        std::fprintf(stderr, "there is no shape %s\n", argv[3]);
        return 2;
    }
    std::printf(good ? "all good\n" : "NOT GOOD\n");
    return good ? 0 : 1;
}
