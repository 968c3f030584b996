// Attention of a batch. A parallel task computes a panel: some queries of a head in an image or window.
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

/// Returns the precision of products in attention. With AMX tiles, an int8 encoder computes attention
/// in bf16: int8 would be slower, because the sums of int8 products must be scaled.
Precision attentionPrecision(const CpuEncoder& encoder);
/// The form in which attention reads values. In bf16: pairs (words of two bf16). In int8, if
/// kernels::takesValueQuads() is true: quads (words of four int8). Otherwise: floats.
enum class ValueForm { Floats, Pairs, Quads };
ValueForm valueForm(Precision precision);
/// Returns whether pairs of values are packed as [columns][pairs], for AMX tiles, not as [pairs][columns].
bool takesValuesAsColumns(Precision precision, int headSize);

/// The layout of a row for bf16 attention: queries, keys, then values. The query and the key of each head
/// begin at a new word (pair). The values of all heads follow each other without gaps.
struct PairRow {
    explicit PairRow(const CpuEncoder& encoder);

    int keysAt() const { return heads * kernels::pairsOf(size); }
    int valuesAt() const { return 2 * keysAt(); }
    int words() const { return valuesAt() + kernels::pairsOf(heads * size); }
    /// Returns whether queries, keys and values are side by side without gaps, as a product writes them.
    bool hasNoGaps() const { return size % 2 == 0; }
    /// Rounds a row of queries, keys and values. Multiplies the queries by `queryFactor`.
    void round(const float* row, const kernels::PairRows& to) const;

    int heads, size;
    float queryFactor;
};

/// Queries, keys and values of the rows of a batch. The index of a row is the number of its key (see Span).
/// The layout depends on the ValueForm. Floats: the rows of each head follow each other, so that repeated
/// reads need few cache lines and pages. Quads: the heads of a row are side by side, as the product writes
/// them. Pairs: each row is a PairRow, because in floats, the rows of an image usually do not fit in a
/// level-2 cache. For AMX tiles, rows of pairs are divided into pieces of kPiecePairs pairs: the memory has
/// the first piece of every row, then the second piece of every row, and so on.
class HeadRows {
public:
    /// Places the rows in `memory`, whose contents are lost.
    HeadRows(kernels::Buffer& memory, const CpuEncoder& encoder, const std::vector<Span>& spans);

    /// Returns whether a product can write to pairs(). If not, the caller must call fill().
    bool takesPairs() const { return m_inPairs && m_keys.empty() && m_pairRow.hasNoGaps(); }
    /// Returns the rows from `key` on.
    kernels::PairRows pairs(int key) const {
        return kernels::PairRows{reinterpret_cast<kernels::Bf16Pair*>(m_data), m_stride, m_pieceStep}.from(
            key);
    }

    /// Calls write(to, stride), which must write rows first..first+count, each with queries, keys and
    /// values side by side. `scratch` is temporary memory.
    template <class Write>
    void fill(int first, int count, kernels::Buffer& scratch, const Write& write) {
        if (m_inPairs || m_together || !m_keys.empty()) {
            const size_t stride = kernels::paddedStride(3 * m_heads * m_size);
            float* rows = scratch.reserve(kernels::paddedSize(count, stride));
            write(rows, stride);
            gather(rows, stride, first, count);
        } else {
            write(m_data + first * m_stride, m_stride);
        }
    }
    /// Copies `row` to the place of a key, which may be a key of padding.
    void put(int key, const float* row);

    int count() const { return m_count; }
    int keyOf(int row) const { return m_keys.empty() ? row : m_keys[row]; }
    const float* at(HeadPart part, int head, int key) const {
        return m_data + static_cast<int>(part) * m_partStep + head * m_headStep + key * m_stride;
    }
    kernels::ConstPairRows pairsAt(HeadPart part, int head, int key) const {
        const int at = part == HeadPart::Queries ? 0
                       : part == HeadPart::Keys  ? m_pairRow.keysAt()
                                                 : m_pairRow.valuesAt();
        const kernels::PairRows rows = pairs(key).from(0, at + head * kernels::pairsOf(m_size));
        return {rows.data, rows.stride, rows.pieceStep};
    }
    size_t stride() const { return m_stride; }  ///< in floats or in pairs
    size_t headStep() const { return m_headStep; }

private:
    void gather(const float* rows, size_t stride, int first, int count);

    std::vector<int> m_keys;  ///< key of each row; empty if keys and rows have the same numbers
    int m_count;
    bool m_inPairs, m_together;
    PairRow m_pairRow;
    int m_heads, m_size;
    size_t m_stride, m_headStep = 0, m_partStep = 0;
    size_t m_pieceStep = kernels::kPiecePairs;
    float* m_data;
};

/// Memory for the keys and values of a batch in the form that attention reads. Every block reuses it.
struct AttentionScratch {
    kernels::Buffer keys;       // quads: [keys][heads * quads of a head's key]
    kernels::Buffer keyScales;  // scales of quads: [heads][keys]
    kernels::Buffer values;  // quads or pairs of tokens: [words][inner]; or pairs as columns: [inner][words]
    kernels::Buffer valueSteps;  // for quads, members of ValueStep (bias, inverse): [2][heads][keys]
};

class Attention {
public:
    /// `keyBias` has a value for each key, or is null.
    Attention(const CpuEncoder& encoder, const std::vector<Span>& spans, const HeadRows& rows,
              const float* keyBias, AttentionScratch& scratch);

    /// Writes the result of attention for each row: the results of all heads, side by side.
    void run(float* output, size_t outputStride);

private:
    bool inI8() const { return m_precision == Precision::I8; }
    /// Returns the number of quads in a head's key.
    int quadsPerKey() const { return kernels::quadsOf(m_encoder.headSize); }
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
    std::vector<int> m_firstValue;  ///< first word of the values of each span
};

}  // namespace mpm::cpu
