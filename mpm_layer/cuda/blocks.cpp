// The transformer blocks of a session, as a template of the element type T.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "mpm_layer/cuda/kernels/rows.hpp"
#include "mpm_layer/cuda/logic/arithmetic.hpp"
#include "mpm_layer/cuda/session.hpp"

namespace mpm::cuda {
namespace {

template <class T>
class Blocks : public Session {
public:
    Blocks(const Weights& weights, const MpmCudaInput& input) : Session(weights, input) {
        Executor& e = executor();
        // A single buffer for the outputs of norms is enough: each output is used before the next norm runs.
        m_normed = take(e.input, weights.dim);
        m_qkv = take(e.qkv, 3 * weights.inner());
        m_attended = take(e.attended, weights.inner());
        m_hidden = take(e.hidden, weights.widest);
        if (weights.gated) m_gate = take(e.gate, weights.widest);
    }

    void attendNow(int index) override {
        const Block& block = weights().blocks.at(index);
        normalise(block.norm1);
        multiply(block.qkv, m_normed, m_qkv);
        if (block.queryNorm.present || block.keyNorm.present || block.rotary.tables)
            finishHeads(view(), m_qkv, heads(block), executor().batch.positions.data(), stream());
        const AttentionView<T> attention{constant(m_qkv), m_attended,         logits(),
                                         weights().heads, weights().headSize, weights().attentionScale};
        ::mpm::cuda::attend(view(), attention, stream());
        if (block.attentionNorm.present) {
            layerNorm<T, T>(view(), constant(m_attended), weights().inner(),
                            block.attentionNorm.view(options().inner_norm), m_attended, stream());
        }
        if (options().parallel) feed(block);  // the MLP must read the rows before attention is added
        addProduct(block.projection, m_attended);
    }

    void runMlpNow(int index) override {
        if (!options().parallel) feed(weights().blocks.at(index));
    }

protected:
    void meanOfKeys(float* mean) override {
        meanKeys<T>(view(), constant(m_qkv), weights().heads, weights().headSize, mean, stream());
    }

private:
    void feed(const Block& block) {
        const int width = block.fc1.columns;
        const RowsOf<T> hidden{m_hidden.data, static_cast<size_t>(paddedWidth(width))};
        normalise(block.norm2);
        Product expand = product(block.fc1, m_normed, weights().elementType(), hidden.data, hidden.stride);
        const bool within = activatesWithin(block, expand);
        executor().products.run(expand, stream());
        if (block.gate.present()) multiply(block.gate, m_normed, {m_gate.data, hidden.stride});
        if (!within) {
            activate(view(), hidden, block.gate.present() ? m_gate.data : nullptr, width,
                     options().activation, stream());
        }
        if (block.mlpNorm.present)
            layerNorm<T, T>(view(), constant(hidden), width, block.mlpNorm.view(options().inner_norm), hidden,
                            stream());
        addProduct(block.fc2, hidden);
    }

    RowsOf<T> take(DeviceBuffer<unsigned char>& buffer, int width) {
        const size_t stride = paddedWidth(width);
        return {reinterpret_cast<T*>(buffer.reserve(capacity() * stride * sizeof(T))), stride};
    }

    static RowsOf<const T> constant(RowsOf<T> rows) { return {rows.data, rows.stride}; }

    HeadsView heads(const Block& block) const {
        const Rotary& rotary = block.rotary;
        return {weights().heads,
                weights().headSize,
                block.queryNorm.view(options().inner_norm),
                block.keyNorm.view(options().inner_norm),
                rotary.cosine.data(),
                rotary.sine.data(),
                rotary.tables,
                rotary.positions,
                options().rotary_halves != 0};
    }

    void normalise(const Norm& norm) {
        const size_t dim = weights().dim;
        layerNorm<float, T>(view(), {executor().batch.rows.data(), dim}, weights().dim,
                            norm.view(options().norm), m_normed, stream());
    }

    Product product(const Linear& linear, RowsOf<T> input, cudaDataType_t type, void* output,
                    size_t stride) const {
        Product p{weights().types(type),
                  productRows(),
                  linear.depth,
                  linear.columns,
                  input.data,
                  input.stride,
                  linear.weight.data(),
                  linear.stride,
                  linear.bias.data(),
                  output,
                  stride,
                  false};
        p.fixed = fixedKernels();
        return p;
    }

    void multiply(const Linear& linear, RowsOf<T> input, RowsOf<T> output) {
        const cudaDataType_t type = weights().elementType();
        executor().products.run(product(linear, input, type, output.data, output.stride), stream());
    }

    /// Adds a product to the residual stream, which is always f32.
    void addProduct(const Linear& linear, RowsOf<T> input) {
        Product p = product(linear, input, CUDA_R_32F, executor().batch.rows.data(), weights().dim);
        p.add = true;
        executor().products.run(p, stream());
    }

    /// Returns whether the product `expand` can apply the activation, which saves a pass over the widest
    /// rows. If so, sets the activation as the epilogue of `expand`. cuBLASLt lacks the GELU of most ViTs,
    /// which uses the error function.
    bool activatesWithin(const Block& block, Product& expand) {
        const auto activation = static_cast<Activation>(options().activation);
        if (activation == Activation::None) return !block.gate.present();
        // has() may depend on the number of rows. With fixed kernels, the choice must not depend on this
        // number.
        if (block.gate.present() || fixedKernels()) return false;
        if (activation != Activation::GeluTanh && activation != Activation::Relu) return false;
        Product within = expand;
        within.epilogue = activation == Activation::Relu ? Epilogue::Relu : Epilogue::GeluTanh;
        if (!executor().products.has(within)) return false;
        expand = within;
        return true;
    }

    RowsOf<T> m_normed{}, m_qkv{}, m_attended{}, m_hidden{}, m_gate{};
};

}  // namespace

std::unique_ptr<Session> makeSession(const Weights& weights, const MpmCudaInput& input) {
    switch (weights.precision) {
        case MPM_CUDA_BF16:
            return std::make_unique<Blocks<__nv_bfloat16>>(weights, input);
        case MPM_CUDA_F16:
            return std::make_unique<Blocks<__half>>(weights, input);
        default:
            return std::make_unique<Blocks<float>>(weights, input);
    }
}

}  // namespace mpm::cuda
