// What the layers of a network share. OpenCV creates layers one by one and does not say to which network a
// layer belongs, so the layers that one thread creates in a row are candidates. Which of them belong together
// is known when OpenCV allocates the network, before the first forward. If in doubt, a layer does not follow
// another one: that is slower, never wrong.
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

/// What the encoder that decides tells the encoders behind it, in a forward.
struct LeadFrame {
    std::vector<int> streams;      ///< of each image
    std::vector<FramePlan> plans;  ///< of each image
};

/// A layer as its network knows it.
struct NetworkLayer {
    std::string name;                        ///< empty if unknown
    const void* const* engine = nullptr;     ///< where OpenCV 5's new engine keeps its pointer to the network
    unsigned allocation = 0;                 ///< by the other engines, counted from 1; 0: not yet
    std::weak_ptr<EncoderControl> control;   ///< of an encoder
    bool merges = false;                     ///< an encoder that is no decoder
    bool leads = false;                      ///< the first segment of its chain
    bool selects = false;                    ///< chooses places by their scores
    std::shared_ptr<const LeadFrame> frame;  ///< of the last forward that decided, or that was followed
    const void* watched = nullptr;           ///< where the tokens of the last forward were, if it reused
    int blocksFollowing = 0;                 ///< of an encoder that follows another one
};

class NetworkState {
public:
    /// @param marked the calls beginReading() and endReading() enclose the layers of a network
    explicit NetworkState(bool marked) : m_marked(marked) {}

    /// Of a layer that the calling thread creates now: of the network between the marks; without marks of the
    /// layers created since the last forward of one of them.
    static std::shared_ptr<NetworkState> ofNextLayer();
    static void beginReading();
    static void endReading();

private:
    friend class NetworkPlace;
    using Layers = std::list<NetworkLayer>;

    bool together(const NetworkLayer& a, const NetworkLayer& b) const;
    bool certain(const NetworkLayer& layer) const;
    void allocate(NetworkLayer& layer);
    /// The encoder that decides for a layer; null if there is none, or more than one.
    NetworkLayer* leaderOf(const NetworkLayer& layer);

    mutable std::mutex m_guard;
    const bool m_marked;
    bool m_ran = false;
    Layers m_layers;  ///< in the order of their creation
    unsigned m_allocations = 0;
    std::map<std::thread::id, unsigned> m_open;  ///< allocations without a forward since, by thread
};

/// Marks begin and end of a network for the layers that the calling thread creates.
class ReadingNetwork {
public:
    ReadingNetwork() { NetworkState::beginReading(); }
    ~ReadingNetwork() { NetworkState::endReading(); }
    ReadingNetwork(const ReadingNetwork&) = delete;
    ReadingNetwork& operator=(const ReadingNetwork&) = delete;
};

/// A layer's hold on the state of its network.
class NetworkPlace {
public:
    explicit NetworkPlace(const std::string& layer = "", const void* const* engine = nullptr);
    ~NetworkPlace();
    NetworkPlace(const NetworkPlace&) = delete;
    NetworkPlace& operator=(const NetworkPlace&) = delete;

    /// The layer is this encoder. Its control is that of the chain it continues, or a new one.
    std::shared_ptr<EncoderControl> join(const EncoderConfig& config);

    void allocate();  ///< OpenCV allocates the layer, with all others of its network
    void run();       ///< a forward of the layer begins

    /// The backbone nearest to the layer, before or behind it; null if there is none.
    std::shared_ptr<EncoderControl> backboneBefore() const;
    std::shared_ptr<EncoderControl> backboneBehind() const;
    /// The precision of products in the same network as that backbone: F32 without it, or if it does not run
    /// on the processor.
    Precision precisionBefore() const;
    Precision precisionBehind() const;
    /// The precision of a convolution behind that backbone. It is never int8 in a network that selects: a
    /// token 1000 times as large as the rest would take all steps of the pixels around it.
    Precision precisionOfHead() const;
    /// Notes in that backbone's report whether the layer stays in f32 though the backbone is in int8.
    void noteF32(bool stays) const;
    bool selects() const;  ///< whether a layer of the network chooses places by their scores
    void select() { m_layer->selects = true; }  ///< the layer chooses places by their scores

    /// For the encoder that decides. `tokens`: where it reads them; null if it does not reuse.
    void beginLead(const void* tokens);
    void lead(std::shared_ptr<const LeadFrame> frame);
    /// Blocks of the encoders that follow.
    int blocksBehind() const;
    /// For an encoder of `blocks` that follows: the frame of this forward; null if it has none to follow.
    std::shared_ptr<const LeadFrame> follow(int blocks);

    /// Whether an encoder of the network reused in its last forward.
    bool reuses() const;
    /// Whether it read its tokens there.
    bool watches(const void* tokens) const;

private:
    template <class Visit>
    bool anyLeader(const Visit& visit) const;

    std::shared_ptr<NetworkState> m_network;
    NetworkState::Layers::iterator m_layer;
};

}  // namespace mpm
