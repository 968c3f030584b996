// The interface of all reducers. A reducer only decides which tokens merge. Averaging, composing, restoring
// and reporting are written once, for any map.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Where in a block a reducer acts.
enum class Moment { BeforeBlock, AfterAttention };

/// The rows that a reducer compares. Keys are the mean over heads, with bias and the block's key norm; not
/// rotated, unless attention has used them.
enum class Metric {
    Tokens,
    Keys,     ///< of the stage's block; after attention: the keys that attention used
    LastKeys  ///< of the last attention, before rotation: no product; `Keys` if there was none in this
              ///< encoder
};

/// An image at one stage. Rows are image tokens only, in their current order.
struct StageContext {
    RowsView tokens;
    RowsView metric;                     ///< the rows that Reducer::metric() names
    const float* sizes = nullptr;        ///< number of input tokens that each row represents
    cv::Size grid;                       ///< of the image's tokens; empty if unknown
    const MergeMap* composed = nullptr;  ///< from image tokens at the input to these rows
    int special = 0;                     ///< tokens in front; not among the rows
    int stage = 0;
    int block = 0;
    int blocks = 0;  ///< of the encoder
};

class Reducer {
public:
    virtual ~Reducer() = default;

    /// Returns a map for each image of the batch.
    virtual std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const = 0;

    virtual Moment moment() const { return Moment::BeforeBlock; }
    virtual Metric metric() const { return Metric::Tokens; }
    /// Whether the reducer decides by mutual pairs of the tokens alone; a backend may compute these itself.
    virtual bool isMutualPairs() const { return false; }
    virtual Mean mean() const { return Mean::Plain; }
    /// Whether the logarithm of the size of a key is added to its attention logits.
    virtual bool biasesBySize() const { return false; }
    /// Returns the blocks of a reducer that ignores the schedule; empty for other reducers, such as mutual
    /// pairs.
    virtual std::vector<int> ownSchedule(int /*blocks*/) const { return {}; }
};

/// Makes the reducer of a method: "mpm", or another reducer with its parameters, "NAME:KEY=VALUE,...". Throws
/// on an unknown name or parameter.
std::shared_ptr<const Reducer> makeReducer(const std::string& method);

}  // namespace mpm
