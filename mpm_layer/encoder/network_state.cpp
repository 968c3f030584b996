#include "mpm_layer/encoder/network_state.hpp"

#include <algorithm>

#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/encoder/runner.hpp"

namespace mpm {
namespace {

thread_local std::shared_ptr<NetworkState> t_reading;

using Lock = std::lock_guard<std::mutex>;

const void* engineOf(const NetworkLayer& layer) {
    return layer.engine ? *layer.engine : nullptr;
}

Precision precisionOf(const std::shared_ptr<EncoderControl>& backbone) {
    const std::shared_ptr<EncoderRunner> runner = backbone ? backbone->runner() : nullptr;
    return runner ? runner->precisionOnProcessor() : Precision::F32;
}

}  // namespace

std::shared_ptr<NetworkState> NetworkState::ofNextLayer() {
    const auto over = [](const NetworkState& network) {
        const Lock lock(network.m_guard);
        return network.m_ran;
    };
    if (!t_reading || over(*t_reading)) t_reading = std::make_shared<NetworkState>(false);
    return t_reading;
}

void NetworkState::beginReading() {
    t_reading = std::make_shared<NetworkState>(true);
}

void NetworkState::endReading() {
    t_reading.reset();
}

void NetworkState::note(NetworkLayer& layer) {
    const auto before = [](const NetworkLayer* a, const NetworkLayer* b) { return a->number < b->number; };
    const auto at = std::lower_bound(m_notable.begin(), m_notable.end(), &layer, before);
    if (at == m_notable.end() || *at != &layer) m_notable.insert(at, &layer);
}

bool NetworkState::together(const NetworkLayer& a, const NetworkLayer& b) const {
    const bool known = engineOf(a) || engineOf(b);  // only OpenCV 5's new engine sets the pointer
    return known ? engineOf(a) == engineOf(b) : a.allocation == b.allocation;
}

bool NetworkState::certain(const NetworkLayer& layer) const {
    return m_marked || engineOf(layer) || layer.allocation > 0;
}

// Numbers the allocations of networks. OpenCV 4 and the classic engine of OpenCV 5 allocate all layers of a
// network, then run them in the same thread. So the first layer that is allocated after a layer has run
// begins a new allocation. If an allocation fails, no layer runs after it. So a new allocation also begins if
// `layer`, or another layer of the same name, already belongs to the current allocation.
void NetworkState::allocate(NetworkLayer& layer) {
    unsigned& open = m_open[std::this_thread::get_id()];
    const auto inThis = [&](const NetworkLayer& other) {
        const bool same = &other == &layer || (!layer.name.empty() && other.name == layer.name);
        return same && other.allocation == open;
    };
    if (open == 0 || std::any_of(m_layers.begin(), m_layers.end(), inThis)) open = ++m_allocations;
    layer.allocation = open;
}

// The leader of a segment is the first segment of its chain. The leader of a decoder is the first segment of
// the chain before the decoder. If the network has several chains, a decoder has no leader.
NetworkLayer* NetworkState::leaderOf(const NetworkLayer& layer) {
    const std::shared_ptr<EncoderControl> control = layer.control.lock();
    NetworkLayer* found = nullptr;
    for (NetworkLayer* const other : m_notable) {
        if (!other->leads) continue;
        if (layer.merges) {
            if (other->control.lock() == control) return other;
        } else if (together(layer, *other)) {
            if (found || other->number > layer.number || !certain(layer)) return nullptr;
            found = other;
        }
    }
    return found;
}

NetworkPlace::NetworkPlace(const std::string& layer, const void* const* engine)
    : m_network(NetworkState::ofNextLayer()) {
    const Lock lock(m_network->m_guard);
    m_network->m_layers.emplace_back();
    m_layer = std::prev(m_network->m_layers.end());
    m_layer->name = layer;
    m_layer->number = m_network->m_created++;
    m_layer->engine = engine;
}

NetworkPlace::~NetworkPlace() {
    const Lock lock(m_network->m_guard);
    std::vector<NetworkLayer*>& notable = m_network->m_notable;
    notable.erase(std::remove(notable.begin(), notable.end(), &*m_layer), notable.end());
    m_network->m_layers.erase(m_layer);
}

std::shared_ptr<EncoderControl> NetworkPlace::join(const EncoderConfig& config) {
    const Lock lock(m_network->m_guard);
    std::shared_ptr<EncoderControl> control;
    const NetworkState::Layers& layers = m_network->m_layers;
    for (auto other = layers.rbegin(); other != layers.rend() && config.chainBlocks > 0; ++other) {
        const std::shared_ptr<EncoderControl> known = other->merges ? other->control.lock() : nullptr;
        if (!known || known->config().chain != config.chain || known->config().chainBlocks == 0) continue;
        if (known->addSegment(config)) control = known;
        break;  // a segment that does not continue the last chain of this name begins another chain
    }
    if (!control) control = std::make_shared<EncoderControl>(config);
    m_layer->control = control;
    m_layer->merges = config.merges;
    m_layer->leads = config.merges && !config.continues();
    m_network->note(*m_layer);
    return control;
}

void NetworkPlace::select() {
    const Lock lock(m_network->m_guard);
    m_layer->selects = true;
    m_network->note(*m_layer);
}

void NetworkPlace::allocate() {
    const Lock lock(m_network->m_guard);
    m_network->allocate(*m_layer);
}

void NetworkPlace::run() {
    const Lock lock(m_network->m_guard);
    m_network->m_ran = true;
    m_network->m_open.erase(std::this_thread::get_id());
}

std::shared_ptr<EncoderControl> NetworkPlace::backboneBefore() const {
    const Lock lock(m_network->m_guard);
    std::shared_ptr<EncoderControl> found;
    for (const NetworkLayer* const other : m_network->m_notable) {
        const bool before = other->merges && other->number < m_layer->number;
        if (before && m_network->together(*other, *m_layer)) found = other->control.lock();
    }
    return found;
}

std::shared_ptr<EncoderControl> NetworkPlace::backboneBehind() const {
    const Lock lock(m_network->m_guard);
    for (const NetworkLayer* const other : m_network->m_notable) {
        const bool behind = other->merges && other->number > m_layer->number;
        if (behind && m_network->together(*other, *m_layer)) return other->control.lock();
    }
    return nullptr;
}

Precision NetworkPlace::precisionBefore() const {
    return precisionOf(backboneBefore());
}

size_t NetworkPlace::imagesBefore() const {
    const std::shared_ptr<EncoderControl> before = backboneBefore();
    return before ? before->report().images.size() : 0;
}

Precision NetworkPlace::precisionOfHead() const {
    return selects() ? Precision::F32 : precisionBefore();
}

Precision NetworkPlace::precisionOfRows() const {
    if (selects()) return Precision::F32;
    const std::shared_ptr<EncoderControl> before = backboneBefore();
    const Precision precision = precisionOf(before ? before : backboneBehind());
    return precision == Precision::I8 ? makeBackend(Device::Cpu, 0)->resolve(Precision::Auto) : precision;
}

bool NetworkPlace::selects() const {
    return anyNotable([](const NetworkLayer& other) { return other.selects; });
}

void NetworkPlace::noteF32(bool stays) const {
    const std::shared_ptr<EncoderControl> backbone = backboneBefore();
    if (!backbone) return;
    const std::string& name = m_layer->name;  // OpenCV's importer adds the prefix "onnx_node!"
    backbone->noteF32(name.substr(name.rfind('!') + 1), stays && precisionOf(backbone) == Precision::I8);
}

void NetworkPlace::beginLead(const void* tokens) {
    const Lock lock(m_network->m_guard);
    m_layer->frame = nullptr;  // later encoders follow only if this forward succeeds
    m_layer->watched = tokens;
}

void NetworkPlace::lead(std::shared_ptr<const LeadFrame> frame) {
    const Lock lock(m_network->m_guard);
    m_layer->frame = std::move(frame);
}

int NetworkPlace::blocksBehind() const {
    const Lock lock(m_network->m_guard);
    int blocks = 0;
    for (const NetworkLayer& other : m_network->m_layers) {
        if (other.blocksFollowing > 0 && m_network->leaderOf(other) == &*m_layer)
            blocks += other.blocksFollowing;
    }
    return blocks;
}

std::shared_ptr<const LeadFrame> NetworkPlace::follow(int blocks) {
    const Lock lock(m_network->m_guard);
    const NetworkLayer* const leader = m_network->leaderOf(*m_layer);
    // If the layer has already followed the leader's frame, this frame belongs to an earlier forward.
    if (!leader || leader->frame == m_layer->frame) return nullptr;
    m_layer->frame = leader->frame;
    if (m_layer->frame) m_layer->blocksFollowing = blocks;
    return m_layer->frame;
}

template <class Visit>
bool NetworkPlace::anyNotable(const Visit& visit) const {
    const Lock lock(m_network->m_guard);
    const std::vector<NetworkLayer*>& notable = m_network->m_notable;
    return std::any_of(notable.begin(), notable.end(), [&](const NetworkLayer* other) {
        return visit(*other) && m_network->together(*other, *m_layer);
    });
}

bool NetworkPlace::reuses() const {
    return anyNotable([](const NetworkLayer& other) { return other.leads && other.frame; });
}

bool NetworkPlace::watches(const void* tokens) const {
    return anyNotable([&](const NetworkLayer& other) { return other.leads && other.watched == tokens; });
}

}  // namespace mpm
