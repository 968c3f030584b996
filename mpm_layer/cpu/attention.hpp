// Attention of a whole batch: every head of every image or window, shared out by panels of queries.
#pragma once

#include <vector>

#include "mpm_layer/cpu/batch.hpp"
#include "mpm_layer/cpu/packed_encoder.hpp"
#include "mpm_layer/kernels/attention/attention.hpp"
#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"

namespace mpm::cpu {

enum class HeadPart { Queries, Keys, Values };

/// The precision of attention's products. Tiles are faster with bf16 than with bytes, whose sums need
/// scaling, so int8 encoders use bf16 there.
Precision attentionPrecision(const CpuEncoder& encoder);
/// How attention takes values: quads in int8, if the processor multiplies bytes without an offset.
enum class ValueForm { Floats, Pairs, Quads };
ValueForm valueForm(Precision precision);
/// Whether pairs are columns, for products in tiles.
bool takesValuesAsColumns(Precision precision, int headSize);

/// Queries, keys and values of a batch's rows, by their numbers as keys: see Span.
///
/// In f32 the rows of each head are together: attention reads them again and again, and finds them in few
/// lines and pages. If attention reads bf16 pairs or int8 quads made of them, heads stay beside each other,
/// as the product writes them.
class HeadRows {
public:
    /// They are in `memory`; its contents are lost.
    HeadRows(kernels::Buffer& memory, const CpuEncoder& encoder, const std::vector<Span>& spans);

    /// write(to, stride) writes `count` rows, each with queries, keys and values beside each other, from row
    /// `first` on. `scratch` may hold them for a while.
    template <class Write>
    void fill(int first, int count, kernels::Buffer& scratch, const Write& write) {
        if (m_together || !m_keys.empty()) {
            const size_t stride = kernels::paddedStride(3 * m_heads * m_size);
            float* rows = scratch.reserve(kernels::paddedSize(count, stride));
            write(rows, stride);
            gather(rows, stride, first, count);
        } else {
            write(m_data + first * m_stride, m_stride);
        }
    }
    /// A row, of padding too.
    void put(int key, const float* row);

    int count() const { return m_count; }
    int keyOf(int row) const { return m_keys.empty() ? row : m_keys[row]; }
    const float* at(HeadPart part, int head, int key) const {
        return m_data + static_cast<int>(part) * m_partStep + head * m_headStep + key * m_stride;
    }
    size_t stride() const { return m_stride; }  ///< from a row to the next
    size_t headStep() const { return m_headStep; }

private:
    void gather(const float* rows, size_t stride, int first, int count);

    std::vector<int> m_keys;  ///< of each row of the batch; empty if they are the same
    int m_count;
    bool m_together;
    int m_heads, m_size;
    size_t m_stride, m_headStep, m_partStep;
    float* m_data;
};

/// Keys and values of a batch as bf16 pairs, or keys as int8 quads. Memory is kept.
struct AttentionScratch {
    kernels::Buffer keys;       // [rows][heads * pairsOf(head size)], or quadsOf
    kernels::Buffer keyScales;  // of quads: [heads][rows]
    kernels::Buffer values;  // pairs or quads of tokens, [words][inner], or pairs as columns, [inner][words]
    kernels::Buffer valueSteps;  // of quads: biases and inverses, [2][heads][rows]
};

class Attention {
public:
    /// `keyBias` has one value for each key, or is null.
    Attention(const CpuEncoder& encoder, const std::vector<Span>& spans, const HeadRows& rows,
              const float* keyBias, AttentionScratch& scratch);

    /// Softmax(q k^T) v of each head, heads beside each other.
    void run(float* output, size_t outputStride);

private:
    bool inI8() const { return m_precision == Precision::I8; }
    /// Words of a key of a head: pairs or quads.
    int wordsPerKey() const { return wordsOf(m_precision, m_encoder.headSize); }
    void pack();
    void packSpan(int span, int token);
    void packKey(int key);
    void packQuadOfValues(int key, int count, kernels::I8Quad* to);
    int wordsOfValues(int tokens) const {
        return m_values == ValueForm::Quads ? kernels::quadsOf(tokens) : kernels::pairsOf(tokens);
    }
    size_t scaleStride() const { return kernels::paddedStride(m_rows.count() + kernels::kKeysRead); }
    void attend(int span, int index, int first, float* output, size_t outputStride) const;
    kernels::AttentionHead head(int span, int index) const;
    kernels::AttentionHeadBf16 headBf16(int span, int index) const;
    kernels::AttentionHeadI8 headI8(int span, int index) const;
    size_t valuesAt(int span, int index) const;

    const CpuEncoder& m_encoder;
    const Precision m_precision;
    const std::vector<Span>& m_spans;
    const HeadRows& m_rows;
    const float* m_keyBias;
    AttentionScratch& m_scratch;
    size_t m_keyStride = 0, m_valueStride = 0;
    ValueForm m_values = ValueForm::Floats;
    bool m_valuesAreColumns = false;
    std::vector<int> m_firstValue;  ///< of each span, among the words of values
};

}  // namespace mpm::cpu
