// The rows of a batch between two blocks, packed without padding, and the image tokens of each row's cluster.
#pragma once

#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/windows.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm::cpu {

/// The rows of a window in a batch: special rows, then image tokens, then trailing rows. An image without
/// windows is a single window.
struct Window {
    int first = 0;      ///< first row in the batch
    int tokens = 0;     ///< current number of image tokens
    MergeMap composed;  ///< cluster of each input token of the window
};

/// Rows that attend to each other in a block. Keys and rows are numbered separately, because a window can
/// have padding keys, which have no rows.
struct Span {
    int first, rows;
    int firstKey, keys;
};

class Batch {
public:
    Batch(const SessionInput& input, const EncoderConfig& config);
    /// Creates a batch with only some image tokens: chosen[i] has image i's tokens in ascending order.
    Batch(const SessionInput& input, const EncoderConfig& config,
          const std::vector<const std::vector<int>*>& chosen);

    int images() const { return static_cast<int>(m_reports.size()); }
    /// Returns the number of windows of all images. Windows are in the order of images.
    int windows() const { return static_cast<int>(m_places.size()); }
    const Window& window(int w) const { return m_places[w]; }
    /// Returns the windows into which each image is divided.
    const Windows& division() const { return m_windows; }
    int rows() const { return m_rows; }
    int dim() const { return m_dim; }
    int special() const { return m_special; }
    int trailing() const { return m_trailing; }
    int inputTokens() const { return m_inputTokens; }
    /// Returns the number of input rows of an image.
    int inputRows() const { return m_windows.count() * m_special + m_inputTokens + m_trailing; }

    float* row(int r) { return m_data.data() + static_cast<size_t>(r) * m_dim; }
    const float* row(int r) const { return m_data.data() + static_cast<size_t>(r) * m_dim; }
    /// Returns the image tokens of a window.
    RowsView tokens(int window) const;

    bool hasKeyBias() const { return !m_rowData.keyBias.empty(); }
    const float* keyBias() const { return m_rowData.keyBias.data(); }
    const float* sizes() const { return m_rowData.sizes.data(); }
    /// Returns the raster position of the representative of row `r`; -1 for special and trailing rows.
    int position(int r) const { return m_rowData.positions[r]; }

    /// imageSpans() returns a span for each image; windowSpans() returns a span for each window. If `padded`
    /// is true, the keys of a window include the keys of padding.
    std::vector<Span> imageSpans() const;
    std::vector<Span> windowSpans(bool padded) const;

    /// Splits each image's map into maps of windows. In an image's map, token rows are numbered as in
    /// numbers(). Throws if a map has the wrong length, or if a map joins tokens of two windows.
    std::vector<MergeMap> byWindow(const std::vector<MergeMap>& maps, int block) const;
    /// Merges the rows: `maps` has a map for each window.
    void apply(const std::vector<MergeMap>& maps, Mean mean, int block);

    /// Returns the row of the input for each row of the batch. Must be called before any merge.
    std::vector<int> chosenRows() const;
    /// Returns, for each row of the input, the row of the batch that now represents this input row.
    std::vector<int> restored() const;
    std::vector<ImageReport> takeReport();

private:
    struct Empty {};
    Batch(const SessionInput& input, const EncoderConfig& config, Empty);

    // Data of each row.
    struct Rows {
        std::vector<float> sizes, keyBias;
        std::vector<int> positions;
    };

    int windowOfImage(int w) const { return w % m_windows.count(); }
    int rowsOf(int window) const { return m_special + m_places[window].tokens + m_trailing; }
    int inputRow(int window, int row) const;
    std::vector<int> numbers(int image) const;
    void reportStage(int image, const MergeMap* maps, const std::vector<int>& before, int block);
    void place();
    void copyTokens(const cv::Mat& tokens);
    void choose(int image, const std::vector<int>& tokens, std::vector<std::vector<int>>& byWindow) const;
    void copyChosen(const SessionInput& input);
    void spreadKeyBias(const cv::Mat& bias);
    void mergeRows(int window, const Clusters& clusters, Mean mean, int first);
    void mergeRowData(int window, const Clusters& clusters, int first, Rows& merged) const;
    void meanKeyBias(int window, Rows& merged) const;
    cv::Mat composedMap(int image) const;

    Windows m_windows;
    bool m_byRepresentative;
    int m_special, m_trailing, m_dim, m_inputTokens, m_rows = 0;
    std::vector<Window> m_places;
    std::vector<ImageReport> m_reports;
    kernels::Buffer m_data, m_spare;
    Rows m_rowData;
    std::vector<float> m_givenKeyBias;  ///< a value for each row of the input
};

}  // namespace mpm::cpu
