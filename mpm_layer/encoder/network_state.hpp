// The state that the layers of a network share. OpenCV creates layers one by one, without naming their
// network: layers that a thread creates in a row are candidates for the same network. The network of a layer
// is certain when OpenCV allocates it, before the first forward. If in doubt, a layer does not follow another
// layer: that is slower, but never wrong.
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

/// The decisions of the encoder that decides in a forward, for the encoders after it.
struct LeadFrame {
    std::vector<int> streams;      ///< the stream of each image
    std::vector<FramePlan> plans;  ///< the plan of each image
};

/// A layer of a network.
struct NetworkLayer {
    std::string name;                        ///< empty if unknown
    const void* const* engine = nullptr;     ///< where OpenCV 5's new engine keeps its pointer to the network
    unsigned allocation = 0;                 ///< number of the other engines' allocation, from 1; 0: not yet
    std::weak_ptr<EncoderControl> control;   ///< of an encoder
    bool merges = false;                     ///< is an encoder, but not a decoder
    bool leads = false;                      ///< is the first segment of its chain
    bool selects = false;                    ///< chooses places by their scores
    std::shared_ptr<const LeadFrame> frame;  ///< the last that this encoder decided or followed
    const void* watched = nullptr;           ///< if the last forward reused: the address of its tokens
    int blocksFollowing = 0;                 ///< blocks of an encoder that follows another encoder
};

class NetworkState {
public:
    /// @param marked whether beginReading() and endReading() enclose the layers of a network
    explicit NetworkState(bool marked) : m_marked(marked) {}

    /// Returns the state for a layer that the calling thread creates now: that of the network between the
    /// marks; without marks that of the layers created since one of them last ran.
    static std::shared_ptr<NetworkState> ofNextLayer();
    static void beginReading();
    static void endReading();

private:
    friend class NetworkPlace;
    using Layers = std::list<NetworkLayer>;

    bool together(const NetworkLayer& a, const NetworkLayer& b) const;
    bool certain(const NetworkLayer& layer) const;
    void allocate(NetworkLayer& layer);
    /// Finds the encoder that decides for a layer; null if there is none, or more than one.
    NetworkLayer* leaderOf(const NetworkLayer& layer);

    mutable std::mutex m_guard;
    const bool m_marked;
    bool m_ran = false;
    Layers m_layers;  ///< in the order of their creation
    unsigned m_allocations = 0;
    std::map<std::thread::id, unsigned> m_open;  ///< by thread: allocation without a forward since
};

/// Marks begin and end of a network for the layers that the calling thread creates.
class ReadingNetwork {
public:
    ReadingNetwork() { NetworkState::beginReading(); }
    ~ReadingNetwork() { NetworkState::endReading(); }
    ReadingNetwork(const ReadingNetwork&) = delete;
    ReadingNetwork& operator=(const ReadingNetwork&) = delete;
};

/// A layer's place in the state of its network.
class NetworkPlace {
public:
    explicit NetworkPlace(const std::string& layer = "", const void* const* engine = nullptr);
    ~NetworkPlace();
    NetworkPlace(const NetworkPlace&) = delete;
    NetworkPlace& operator=(const NetworkPlace&) = delete;

    /// Registers the layer as this encoder. Returns the control of its chain, or a new control.
    std::shared_ptr<EncoderControl> join(const EncoderConfig& config);

    void allocate();  ///< to call when OpenCV allocates the network of the layer
    void run();       ///< to call when a forward of the layer begins

    /// Return the backbone nearest to the layer, before or after it; null if there is none.
    std::shared_ptr<EncoderControl> backboneBefore() const;
    std::shared_ptr<EncoderControl> backboneBehind() const;
    /// Return the precision of products in the network of that backbone: F32 if there is no backbone, or if
    /// it does not run on the CPU.
    Precision precisionBefore() const;
    Precision precisionBehind() const;
    /// Returns the precision of a convolution after the backbone: never int8 if a layer of the network
    /// selects. A token 1,000 times as large as the others would use up the steps of the pixels around it.
    Precision precisionOfHead() const;
    /// Notes in the report of the backbone before whether the layer stays in f32 despite its int8.
    void noteF32(bool stays) const;
    bool selects() const;  ///< whether a layer of the network chooses places by their scores
    void select() { m_layer->selects = true; }  ///< notes that the layer chooses places by their scores

    /// Begins a forward of the encoder that decides. `tokens`: the address that it reads; null without reuse.
    void beginLead(const void* tokens);
    void lead(std::shared_ptr<const LeadFrame> frame);
    /// Counts the blocks of the encoders that follow.
    int blocksBehind() const;
    /// Returns the frame that an encoder of `blocks` blocks follows in this forward; null if there is none.
    std::shared_ptr<const LeadFrame> follow(int blocks);

    /// Whether an encoder of the network reused in its last forward.
    bool reuses() const;
    /// Whether an encoder of the network reused in its last forward, and read its tokens at this address.
    bool watches(const void* tokens) const;

private:
    template <class Visit>
    bool anyLeader(const Visit& visit) const;

    std::shared_ptr<NetworkState> m_network;
    NetworkState::Layers::iterator m_layer;
};

}  // namespace mpm
