// What every way of reducing tokens looks like to the encoder. Averaging, composing, restoring and reporting
// are written once, for any map: a reducer only says which tokens go together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Where in a block a reducer acts.
enum class Moment { BeforeBlock, AfterAttention };

/// One image at one stage. Rows are image tokens only, in their present order.
struct StageContext {
    RowsView tokens;
    RowsView metric;  ///< the keys' mean over heads where the reducer asks for it, else the tokens
    const float* sizes = nullptr;        ///< tokens of the picture that each row stands for
    cv::Size grid;                       ///< of the picture's tokens; empty where unknown
    const MergeMap* composed = nullptr;  ///< from the picture's tokens to these rows
    int special = 0;                     ///< tokens in front, which no reducer sees
    int stage = 0;
    int block = 0;
    int blocks = 0;            ///< of the encoder
    std::uint64_t stream = 0;  ///< seed for reducers that draw lots
};

class Reducer {
public:
    virtual ~Reducer() = default;

    /// One map for each image of the batch.
    virtual std::vector<MergeMap> reduce(const std::vector<StageContext>& batch) const = 0;

    virtual Moment moment() const { return Moment::BeforeBlock; }
    virtual bool needsKeys() const { return false; }
    /// Decides by mutual pairs of the tokens alone, which a device may compute where the tokens are.
    virtual bool pairsMutually() const { return false; }
    /// Means weighted by how many tokens each row stands for.
    virtual bool weighsBySize() const { return false; }
    /// Attention logits get the logarithm of a key's size.
    virtual bool biasesBySize() const { return false; }
    /// Blocks it acts in where the schedule does not say; mutual pairs have none of their own.
    virtual std::vector<int> ownSchedule(int /*blocks*/) const { return {}; }
};

/// "mpm", or another method with its parameters, "NAME:KEY=VALUE,...". Throws on an unknown name or
/// parameter.
std::shared_ptr<const Reducer> makeReducer(const std::string& method);

}  // namespace mpm
