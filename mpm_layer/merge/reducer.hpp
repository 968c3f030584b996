// The interface of all reducers. Averaging, composing, restoring and reporting are written once, for any map:
// a reducer only decides which tokens merge.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Where in a block a reducer acts.
enum class Moment { BeforeBlock, AfterAttention };

/// The rows that a reducer compares. Keys are the mean over heads, with bias and the block's key norm, before
/// rotation.
enum class Metric {
    Tokens,
    Keys,     ///< of the stage's block; after attention, as attention used them
    LastKeys  ///< of the block before, which cost no product; `Keys` if this encoder has not computed them
};

/// An image at one stage. Rows are image tokens only, in their present order.
struct StageContext {
    RowsView tokens;
    RowsView metric;                     ///< the rows that Reducer::metric() names
    const float* sizes = nullptr;        ///< image tokens at the input that each row represents
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

    /// One map for each image of the batch.
    virtual std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const = 0;

    virtual Moment moment() const { return Moment::BeforeBlock; }
    virtual Metric metric() const { return Metric::Tokens; }
    /// Decides by mutual pairs of the tokens alone, which a backend may compute itself.
    virtual bool isMutualPairs() const { return false; }
    /// Means are weighted by the number of tokens that each row represents.
    virtual bool weighsBySize() const { return false; }
    /// Attention logits get the logarithm of a key's size.
    virtual bool biasesBySize() const { return false; }
    /// Its blocks if there is no schedule; mutual pairs have none of their own.
    virtual std::vector<int> ownSchedule(int /*blocks*/) const { return {}; }
};

/// "mpm", or another method with its parameters, "NAME:KEY=VALUE,...". Throws on an unknown name or
/// parameter.
std::shared_ptr<const Reducer> makeReducer(const std::string& method);

}  // namespace mpm
