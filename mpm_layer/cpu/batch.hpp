// The rows of a batch between the blocks: a packed run without padding, and the tokens of the image that each
// row represents.
#pragma once

#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm::cpu {

/// An image's place in the run: `special` rows, then image tokens, then `trailing` rows.
struct Image {
    int first = 0;   ///< row of the run
    int tokens = 0;  ///< image tokens left
    MergeMap composed;
    ImageReport report;
};

class Batch {
public:
    Batch(const SessionInput& input, int special, int trailing);
    /// Only some image tokens of each image, ascending.
    Batch(const SessionInput& input, int special, int trailing,
          const std::vector<const std::vector<int>*>& chosen);

    int images() const { return static_cast<int>(m_images.size()); }
    const Image& image(int i) const { return m_images[i]; }
    int rows() const { return m_rows; }
    int dim() const { return m_dim; }
    int special() const { return m_special; }
    int trailing() const { return m_trailing; }
    int rowsOf(int image) const { return m_special + m_images[image].tokens + m_trailing; }
    int inputTokens() const { return m_inputTokens; }

    float* row(int r) { return m_data.data() + static_cast<size_t>(r) * m_dim; }
    const float* row(int r) const { return m_data.data() + static_cast<size_t>(r) * m_dim; }
    /// The image tokens of an image.
    RowsView tokens(int image) const;

    bool hasKeyBias() const { return !m_rowData.keyBias.empty(); }
    const float* keyBias() const { return m_rowData.keyBias.data(); }
    const float* sizes() const { return m_rowData.sizes.data(); }
    /// Raster position of a row's representative; -1 for special and trailing rows.
    int position(int r) const { return m_rowData.positions[r]; }

    /// Shortens the run by a map for each image.
    void apply(const std::vector<MergeMap>& maps, bool weighted, int block);

    std::vector<ImageReport> takeReport();

private:
    // The image tokens of each row.
    struct Rows {
        std::vector<float> sizes, keyBias;
        std::vector<int> positions;
    };

    void copyChosen(const SessionInput& input, const std::vector<const std::vector<int>*>& chosen);
    void copyTokens(const cv::Mat& tokens);
    void spreadKeyBias(const cv::Mat& bias);
    void mergeRows(int image, const Clusters& clusters, bool weighted, int first);
    void mergeRowData(int image, const Clusters& clusters, int first, Rows& merged) const;
    void meanKeyBias(const Image& image, int number, Rows& merged) const;

    int m_special, m_trailing, m_dim, m_inputTokens, m_rows;
    std::vector<Image> m_images;
    kernels::Buffer m_data, m_spare;
    Rows m_rowData;
    std::vector<float> m_givenKeyBias;  ///< of each input row
};

}  // namespace mpm::cpu
