// A forward that computes only some rows again. These rows attend to all rows in their stream's memory.
#pragma once

#include <memory>
#include <vector>

#include "mpm_layer/cpu/attention.hpp"
#include "mpm_layer/cpu/cpu_session.hpp"
#include "mpm_layer/cpu/packed_encoder.hpp"

namespace mpm::cpu {

/// Queries of a head: `count` rows of `heads`, from row `first`.
struct HeadQueries {
    const HeadRows& heads;
    int head, first, count;
};

/// The memory of a stream, in the layout of the kernels. A forward writes only the rows that it computes.
class TokenMemory : public StreamMemory {
public:
    TokenMemory(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights, int rows);

    void recall(int tap, float* to) const override;
    float* output(int tap, int row) { return outputs(tap) + static_cast<size_t>(row) * m_dim; }

    /// Stores keys and values of `count` rows, from row `first` of `heads`. `rows`: the numbers of these rows
    /// in the input. Threads may store different rows in parallel.
    void keep(int block, const HeadRows& heads, int first, const int* rows, int count);
    /// Stores the keys and values of a padding row in a window. `row` has queries, keys and values side by
    /// side. `number`: the index of the row among the window's padding.
    void keepPadding(int block, int window, int number, const float* row);

    /// Returns the biases of the input rows in the order of a block's keys; 0 for padding.
    std::vector<float> keyBias(int block, const float* ofRows) const;
    /// Computes attention from the panel of queries that begins at `first` to all keys of a span: a window
    /// or, in a global block, the image. `keyBias` has a value for each key of the block, or is null.
    void attend(int block, int span, const HeadQueries& queries, int first, const float* keyBias,
                float* output, size_t outputStride) const;

private:
    // The index of a row among the keys of a block, and its index among the values. The two may differ:
    // kernels read the values of a fixed number of rows together, and the values of each span begin at a
    // multiple of this number.
    struct Place {
        int key, value;
    };
    struct Layout {
        std::vector<Span> spans;
        std::vector<int> firstValue;  ///< of each span
        std::vector<Place> places;    ///< of each row of the input
        int keys = 0, values = 0;
        size_t headStep = 0, scaleStride = 0, valueStride = 0, scalesAt = 0, valuesAt = 0, size = 0;
    };
    struct Block {
        const Layout& layout;
        float *keys, *keyScales, *values;
    };
    // Addresses of the first head. The next head is `headStep` floats further on.
    struct KeyAndValue {
        const float *key, *value;
        size_t headStep;
    };

    Layout layoutOf(const EncoderConfig& config, const Windows& windows, bool global) const;
    void place(const EncoderConfig& config, const Windows& windows, bool global, Layout& layout) const;
    size_t keysSize(const Layout& layout) const;
    size_t valuesSize(const Layout& layout) const;
    int readableKeys(const Layout& layout) const;
    Block block(int index) const;
    float* outputs(int tap) const { return m_start + m_outputsAt + m_outputStep * tap; }
    void keepRow(const Block& block, const KeyAndValue& row, const Place& place);
    void keepKey(const Block& block, const KeyAndValue& row, int to);
    /// Stores the keys and values of a row, which have the layout of a PairRow (attention.hpp).
    void keepPairs(const Block& block, const kernels::ConstPairRows& keys,
                   const kernels::ConstPairRows& values, const Place& to);
    void keepQuad(const Block& block, const KeyAndValue& row, const Place& to);
    int tokensOfWord() const { return m_values == ValueForm::Quads ? 4 : 2; }
    kernels::AttentionHead head(const Block& block, const Span& span, const HeadQueries& queries,
                                const float* keyBias) const;

    std::shared_ptr<const CpuEncoder> m_encoder;
    const int m_rows, m_dim;
    const Precision m_precision;
    const ValueForm m_values;
    const bool m_valuesAreColumns;
    size_t m_keyStride;
    Layout m_global, m_windowed;  ///< of global and of other blocks; m_windowed is empty without windows
    struct Start {
        const Layout* layout;
        size_t at;
    };
    std::vector<Start> m_blocks;
    // Keys, scales and values of each block, then the outputs. All are in a single allocation, because each
    // allocation leaves the end of a large page unused.
    size_t m_outputsAt = 0, m_outputStep;
    kernels::Buffer m_all;
    float* m_start;
};

class ReuseSession final : public CpuSession {
public:
    ReuseSession(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
                 const SessionInput& input, const std::vector<RememberedImage>& images);

    void attend(int block) override;
    void runMlp(int block) override;
    void emit(bool norm, cv::Mat& output) override;
    std::vector<ImageReport> takeReport() override { return std::move(m_reports); }

private:
    void project(int block, int first, int count);
    void keep(int block, int first, int count);
    void keepPadding(int block);
    TokenMemory& memory(int image) const { return static_cast<TokenMemory&>(*m_images[image].memory); }
    const float* keyBiasOf(int image) const;
    void keepOutput(int image, const Span& span, const float* rows);

    const std::vector<RememberedImage> m_images;
    cv::Mat m_keyBias;
    std::vector<int> m_inputs;  ///< for each row of the batch, its row in the image's input
    std::vector<ImageReport> m_reports;
    int m_tap = 0;
};

}  // namespace mpm::cpu
