// Computes the class of each pixel from the masks and classes of queries. Works tile by tile, so that no
// masks or scores of the image's size are stored.
#pragma once

#include <functional>
#include <vector>

#include <opencv2/core.hpp>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/tokens/upsample.hpp"

namespace mpm::decoder {

struct MaskLabelsShape {
    int queries = 0, classes = 0;  ///< classes without "no object"
    cv::Size masks, image;
};

class MaskLabels {
public:
    MaskLabels(const MaskLabelsShape& shape, bool sigmoidFirst);

    /// Receives a piece of a row of the image.
    using Write = std::function<void(int row, int column, int count, const int* labels, const float* scores)>;

    /// Labels an image from masks [queries, rows, columns] and logits [queries, classes + 1]. Calls `write`
    /// in any order and on several threads.
    void run(const float* masks, const float* logits, const Write& write);

private:
    struct Tile {
        cv::Range rows;
        int column = 0, columns = 0;
    };
    struct Columns {
        kernels::Runs runs;
        std::vector<int> sources;  ///< if m_sigmoidFirst: columns of the masks; `runs` indexes this list
    };
    struct Scratch;

    Tile tile(int index) const;
    Columns columnsOf(const Tile& tile) const;
    void setProbabilities(const float* logits);
    /// Computes labels and scores of a row of a tile, in `scratch`.
    void labelRow(const Tile& tile, const Columns& columns, int row, Scratch& scratch) const;
    /// Returns the data of row `row` of the masks (see Scratch). Keeps the data of row `other`, because all
    /// rows of the image between these two rows of the masks use both.
    const float* sourceRow(const Columns& columns, int row, int other, Scratch& scratch) const;
    void stretchMasks(const Columns& columns, int row, float* to) const;
    void scoreMasks(const Columns& columns, int row, Scratch& scratch, float* to) const;

    const MaskLabelsShape m_shape;
    const bool m_sigmoidFirst;
    const std::vector<kernels::Tap> m_down;
    const kernels::Runs m_across;
    int m_tileColumns, m_tilesDown, m_tilesAcross;
    const float* m_masks = nullptr;
    kernels::Buffer m_probabilities;  ///< [classes][queries], the left operand of products
    size_t m_probabilityStride;
};

}  // namespace mpm::decoder
