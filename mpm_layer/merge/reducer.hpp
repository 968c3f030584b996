// The interface of all reducers. A reducer only decides which tokens merge. Averaging, composing, restoring
// and reporting are written once, for any map.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// The point of a block at which a reducer merges.
enum class Moment { BeforeBlock, AfterAttention };

/// The rows that a reducer compares. Keys are averaged over heads, after bias and key norm.
enum class Metric {
    Tokens,
    Keys,     ///< keys of the stage's block: at BeforeBlock, without rotary positions; at AfterAttention, as
              ///< attention used them
    LastKeys  ///< keys of this encoder's latest attention, without rotary positions; saves the product that
              ///< computes keys. The same as `Keys` if no attention has run
};

/// An image, or a window of an image, at one stage. Rows are image tokens only, in their current order.
struct StageContext {
    RowsView tokens;
    RowsView metric;                     ///< the rows that Reducer::metric() names
    const float* sizes = nullptr;        ///< number of input tokens that each row represents
    cv::Size grid;                       ///< size of the grid of image tokens; empty if unknown
    const MergeMap* composed = nullptr;  ///< maps image tokens at the input to these rows
    int special = 0;                     ///< number of special tokens in front of the rows
    int stage = 0;
    int block = 0;
    int blocks = 0;  ///< number of blocks of the encoder
};

class Reducer {
public:
    virtual ~Reducer() = default;

    /// Returns a map for each element of `batch`.
    virtual std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const = 0;

    virtual Moment moment() const { return Moment::BeforeBlock; }
    virtual Metric metric() const { return Metric::Tokens; }
    /// Returns whether the reducer merges all mutual pairs of tokens. If so, a backend may find the pairs
    /// without reduce().
    virtual bool isMutualPairs() const { return false; }
    virtual Mean mean() const { return Mean::Plain; }
    /// Returns whether attention adds the logarithm of a key's size (number of tokens) to the key's logits.
    virtual bool biasesBySize() const { return false; }
    /// If the reducer uses the schedule, returns no blocks. If the reducer ignores the schedule, returns the
    /// blocks at which the reducer merges.
    virtual std::vector<int> ownSchedule(int /*blocks*/) const { return {}; }
};

/// Makes the reducer of a method: a name, such as "mpm", or a name with parameters, "NAME:KEY=VALUE,...".
/// Throws on an unknown name or parameter.
std::shared_ptr<const Reducer> makeReducer(const std::string& method);

}  // namespace mpm
