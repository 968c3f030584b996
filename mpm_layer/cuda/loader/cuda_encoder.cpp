#include "mpm_layer/cuda/loader/cuda_encoder.hpp"

#include <deque>

namespace mpm::cuda {
namespace {

int32_t codeOf(Precision precision) {
    if (precision == Precision::TF32) return MPM_CUDA_TF32;
    if (precision == Precision::BF16) return MPM_CUDA_BF16;
    if (precision == Precision::F16) return MPM_CUDA_F16;
    return MPM_CUDA_F32;
}

// The description of an encoder, with pointers to matrices and copies of vectors. Checks weights like the CPU
// backend.
class Description {
public:
    Description(const EncoderConfig& config, const NamedWeights& weights, const EncoderShape& shape)
        : m_weights(weights), m_shape(shape) {
        for (int b = 0; b < config.blocks; ++b)
            m_blocks.push_back(block(config.firstBlock + b));
        m_finalNorm = norm("norm", shape.dim);
    }

    MpmCudaEncoderDescription get(Precision precision) const {
        MpmCudaEncoderDescription d{};
        d.dim = m_shape.dim;
        d.heads = m_shape.heads;
        d.head_size = m_shape.headSize;
        d.precision = codeOf(precision);
        d.attention_scale = m_shape.attentionScale;
        d.final_norm = m_finalNorm;
        d.blocks = m_blocks.data();
        d.block_count = static_cast<int32_t>(m_blocks.size());
        return d;
    }

    std::vector<int> rotaryPositions() const {
        std::vector<int> positions;
        for (const MpmCudaBlock& block : m_blocks)
            positions.push_back(block.rotary.positions);
        return positions;
    }

private:
    const float* vector(const std::string& name, int size) {
        m_vectors.push_back(m_weights.vector(name, size));
        return m_vectors.back().empty() ? nullptr : m_vectors.back().data();
    }

    MpmCudaNorm norm(const std::string& name, int size) {
        MpmCudaNorm n{};
        n.weight = vector(name + ".weight", size);
        n.bias = vector(name + ".bias", size);
        n.present = n.weight || n.bias;
        return n;
    }

    MpmCudaLinear linear(const std::string& name, int depth, int columns) {
        const cv::Mat matrix = m_weights.matrix(name + ".weight", depth, columns);
        MpmCudaLinear l{};
        l.weight = matrix.ptr<float>();  // values of NamedWeights are continuous
        l.depth = depth;
        l.columns = matrix.size[1];
        if (l.columns < 1)
            CV_Error(cv::Error::StsBadArg, "mpm: weight " + name + ".weight must not be empty");
        l.bias = vector(name + ".bias", l.columns);
        return l;
    }

    MpmCudaRotary rotary(const std::string& prefix) const {
        const RotaryShape shape = rotaryShape(m_weights, prefix, m_shape);
        MpmCudaRotary r{};
        if (shape.tables == 0) return r;
        r.cosine = m_weights.raw(shape.name + "cos").ptr<float>();
        r.sine = m_weights.raw(shape.name + "sin").ptr<float>();
        r.tables = shape.tables;
        r.positions = shape.positions;
        return r;
    }

    MpmCudaBlock block(int number) {
        const std::string prefix = std::to_string(number) + ".";
        const int dim = m_shape.dim, inner = m_shape.inner();
        MpmCudaBlock b{};
        b.norm1 = norm(prefix + "norm1", dim);
        b.qkv = linear(prefix + "qkv", dim, 3 * inner);
        b.q_norm = norm(prefix + "q_norm", m_shape.headSize);
        b.k_norm = norm(prefix + "k_norm", m_shape.headSize);
        b.rotary = rotary(prefix);
        b.attention_norm = norm(prefix + "attn_norm", inner);
        b.projection = linear(prefix + "proj", inner, dim);
        b.scale1 = vector(prefix + "ls1", dim);
        b.norm2 = norm(prefix + "norm2", dim);
        b.fc1 = linear(prefix + "fc1", dim, 0);
        const int hidden = b.fc1.columns;
        if (m_weights.has(prefix + "gate.weight")) b.gate = linear(prefix + "gate", dim, hidden);
        b.mlp_norm = norm(prefix + "mlp_norm", hidden);
        b.fc2 = linear(prefix + "fc2", hidden, dim);
        b.scale2 = vector(prefix + "ls2", dim);
        return b;
    }

    const NamedWeights& m_weights;
    const EncoderShape& m_shape;
    std::deque<std::vector<float>> m_vectors;
    std::vector<MpmCudaBlock> m_blocks;
    MpmCudaNorm m_finalNorm{};
};

}  // namespace

void check(int status, const MpmCudaError& error) {
    if (status == MPM_CUDA_OK) return;
    const cv::Error::Code code = status == MPM_CUDA_OUT_OF_MEMORY ? cv::Error::StsNoMem
                                 : status == MPM_CUDA_UNSUPPORTED ? cv::Error::StsNotImplemented
                                                                  : cv::Error::GpuApiCallError;
    CV_Error(code, std::string("mpm: device cuda: ") + error.text);
}

CudaEncoder::CudaEncoder(std::shared_ptr<const Library> library, int device, const EncoderConfig& config,
                         const NamedWeights& weights, Precision precision)
    : m_library(std::move(library)), m_shape(encoderShape(config, weights)) {
    const Description description(config, weights, m_shape);
    for (int b = 0; b < config.blocks; ++b)
        m_stageKeys.emplace_back(config, weights, m_shape, config.firstBlock + b);
    m_rotaryPositions = description.rotaryPositions();
    const MpmCudaEncoderDescription plain = description.get(precision);
    call(entry().create_encoder, device, &plain, &m_handle);
}

CudaEncoder::~CudaEncoder() {
    entry().destroy_encoder(m_handle);
}

}  // namespace mpm::cuda
