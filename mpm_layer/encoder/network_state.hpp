// The state that the layers of a network share. OpenCV does not tell a layer to which network the layer
// belongs. So this code assumes that all layers that a thread creates in sequence belong to the same network.
// When OpenCV allocates a layer, before the first forward, the layer's network becomes certain. Until then,
// the layer does not follow the decisions of other layers. Not following is slower, but never wrong.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/config.hpp"
#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

class EncoderControl;

/// The decisions of a leading encoder (NetworkLayer::leads): the rows that a forward computes again. Later
/// encoders follow these decisions.
struct LeadFrame {
    std::vector<int> streams;      ///< the stream of each image
    std::vector<FramePlan> plans;  ///< the plan of each image
};

struct NetworkLayer {
    std::string name;                     ///< empty if unknown
    unsigned number = 0;                  ///< in the order of creation
    const void* const* engine = nullptr;  ///< OpenCV 5's new engine: address of a pointer to the network
    unsigned allocation = 0;  ///< other engines: number of the network's allocation, from 1; 0: none yet
    std::weak_ptr<EncoderControl> control;   ///< empty if the layer is not an encoder
    bool merges = false;                     ///< whether this is an encoder of a backbone
    bool leads = false;                      ///< whether this is a backbone's first encoder
    bool selects = false;                    ///< whether this layer selects positions by score
    std::shared_ptr<const LeadFrame> frame;  ///< the last frame that this encoder led or followed
    const void* watched = nullptr;           ///< with reuse, address of the last forward's tokens; else null
    int blocksFollowing = 0;                 ///< number of blocks if this encoder follows another, else 0
};

class NetworkState {
public:
    /// @param marked whether the layers are created between beginReading() and endReading(), so that they
    /// certainly belong to the same network
    explicit NetworkState(bool marked) : m_marked(marked) {}

    /// Returns the state for a layer that the calling thread creates now. Between beginReading() and
    /// endReading(), returns the state of the network that is being read. Otherwise, returns the state of the
    /// layers that the thread created before, or a new state if any of these layers has run.
    static std::shared_ptr<NetworkState> ofNextLayer();
    static void beginReading();
    static void endReading();

private:
    friend class NetworkPlace;
    using Layers = std::list<NetworkLayer>;

    void note(NetworkLayer& layer);  ///< adds the layer to m_notable
    bool together(const NetworkLayer& a, const NetworkLayer& b) const;
    bool certain(const NetworkLayer& layer) const;
    void allocate(NetworkLayer& layer);
    /// Returns the encoder that `layer` follows; null if none, or if a decoder's network is not certain.
    NetworkLayer* leaderOf(const NetworkLayer& layer);

    mutable std::mutex m_guard;
    const bool m_marked;
    bool m_ran = false;
    Layers m_layers;  ///< in the order of their creation
    unsigned m_created = 0;
    std::vector<NetworkLayer*> m_notable;  ///< encoders and layers that select, in the order of creation
    unsigned m_allocations = 0;
    std::map<std::thread::id, unsigned> m_open;  ///< number of the allocation in progress in each thread
};

/// While this object exists, the layers that the calling thread creates belong to the same network.
class ReadingNetwork {
public:
    ReadingNetwork() { NetworkState::beginReading(); }
    ~ReadingNetwork() { NetworkState::endReading(); }
    ReadingNetwork(const ReadingNetwork&) = delete;
    ReadingNetwork& operator=(const ReadingNetwork&) = delete;
};

/// A layer's entry in the state of its network.
class NetworkPlace {
public:
    explicit NetworkPlace(const std::string& layer = "", const void* const* engine = nullptr);
    ~NetworkPlace();
    NetworkPlace(const NetworkPlace&) = delete;
    NetworkPlace& operator=(const NetworkPlace&) = delete;

    /// Registers the layer as an encoder with this configuration. Returns the control of the encoder's chain,
    /// or a new control if the encoder does not continue a chain.
    std::shared_ptr<EncoderControl> join(const EncoderConfig& config);

    void allocate();  ///< must be called when OpenCV allocates the layer
    void run();       ///< must be called when a forward of the layer begins

    /// Return the nearest backbone before or after the layer; null if there is none.
    std::shared_ptr<EncoderControl> backboneBefore() const;
    std::shared_ptr<EncoderControl> backboneBehind() const;
    /// Returns the precision of the nearest backbone before the layer; F32 if there is no backbone, or if the
    /// backbone does not run on the CPU.
    Precision precisionBefore() const;
    /// Returns the number of images in the last forward of backboneBefore(); 0 if there is no backbone.
    size_t imagesBefore() const;
    /// Returns the precision of a convolution after the backbone: f32 if a layer of the network selects
    /// positions, else the backbone's precision. In networks that select positions, some tokens are 1,000
    /// times as large as others, so a lower precision would change scores and move boxes.
    Precision precisionOfHead() const;
    /// Returns the precision of a linear layer whose rows are positions in an image: f32 if a layer of the
    /// network selects positions, else the backbone's precision. Replaces int8 with bf16 if the processor has
    /// bf16, else with f32.
    Precision precisionOfRows() const;
    /// Notes, in the report of the backbone before the layer, whether the layer runs in f32 although the
    /// backbone runs in int8.
    void noteF32(bool stays) const;
    bool selects() const;  ///< whether a layer of the network selects positions by score
    void select();         ///< notes that this layer selects positions by score

    /// Begins a forward of a leading encoder. `tokens`: address of the input tokens; null without reuse.
    void beginLead(const void* tokens);
    void lead(std::shared_ptr<const LeadFrame> frame);
    /// Returns the number of blocks of all encoders that follow this encoder.
    int blocksBehind() const;
    /// Returns the decisions that this encoder, of `blocks` blocks, follows in this forward; null if none.
    std::shared_ptr<const LeadFrame> follow(int blocks);

    /// Returns whether an encoder of the network ran with reuse in its last forward.
    bool reuses() const;
    /// Returns whether an encoder of the network ran with reuse in its last forward and read its tokens from
    /// the address `tokens`.
    bool watches(const void* tokens) const;

private:
    template <class Visit>
    bool anyNotable(const Visit& visit) const;

    std::shared_ptr<NetworkState> m_network;
    NetworkState::Layers::iterator m_layer;
};

}  // namespace mpm
