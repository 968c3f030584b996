#include "pipeline/segment/layer_parts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include <mpm/layers.hpp>

#include "mpm_layer/dnn/opencv.hpp"

namespace mpm::pipeline {

namespace {

struct FlowNode {
    int id;
    size_t timing;                ///< index among the engine's times
    std::vector<size_t> inputs;   ///< indices of the nodes whose outputs this node reads
    std::vector<size_t> readers;  ///< indices of the nodes that read this node's outputs
    std::string type = {};
    bool live = false;  ///< whether the node depends on the image; if not, the node is a constant
};

using FlowNodes = std::vector<FlowNode>;

/// Returns whether `net` runs on OpenCV's classic engine. In the classic engine, the id of the first layer is
/// 1, because the input has the id 0. In the new engine, the id of the first layer is 0.
bool classicEngine(cv::dnn::Net& net, const std::vector<cv::String>& names) {
    return names.empty() || net.getLayerId(names.front()) > 0;
}

void addInput(FlowNodes& nodes, size_t node, size_t input) {
    if (input >= node) return;  // an input must run before its reader
    nodes[node].inputs.push_back(input);
    nodes[input].readers.push_back(node);
    nodes[node].live = nodes[node].live || nodes[input].live;
}

FlowNodes classicNodes(cv::dnn::Net& net, const std::vector<cv::String>& names, int last) {
    FlowNodes nodes;
    std::map<const cv::dnn::Layer*, size_t> places;
    for (const cv::String& name : names) {
        const int id = net.getLayerId(name);
        if (id > last) break;  // the forward ended at layer `last`; the times of later layers are old
        nodes.push_back({id, static_cast<size_t>(id - 1), {}, {}, net.getLayer(id)->type});
        const size_t node = nodes.size() - 1;
        for (const cv::Ptr<cv::dnn::Layer>& input : net.getLayerInputs(id)) {
            const auto found = places.find(input.get());
            if (found == places.end())
                nodes[node].live = true;  // the network's input
            else
                addInput(nodes, node, found->second);
        }
        places[net.getLayer(id).get()] = node;
    }
    return nodes;
}

FlowNodes newNodes(cv::dnn::Net& net, size_t count) {
    FlowNodes nodes;
    std::map<int, size_t> makers;
    for (size_t node = 0; node < count; ++node) {
        const int id = static_cast<int>(node);
        const dnn::LayerValues values = dnn::valuesOf(net, id);
        nodes.push_back({id, node, {}, {}, net.getLayer(id)->type, values.readsImage});
        for (const int input : values.inputs)
            if (const auto found = makers.find(input); found != makers.end())
                addInput(nodes, node, found->second);
        for (const int output : values.outputs)
            makers[output] = node;
    }
    return nodes;
}

FlowNodes nodesOf(cv::dnn::Net& net, const std::string& output) {
    const std::vector<cv::String> names = net.getLayerNames();
    if (classicEngine(net, names)) {
        const int last = output.empty() ? -1 : net.getLayerId(output);
        return classicNodes(net, names, last < 0 ? std::numeric_limits<int>::max() : last);
    }
    return newNodes(net, names.size());
}

/// The layers by which a detector selects proposals: the first MpmTopK of each path after the encoder, each
/// MpmGatherRows that reads rows at the indices of this MpmTopK, and the layers in between.
class Selection {
public:
    /// @param latest for each node, the number of the latest segment on which the node depends; 0: none
    Selection(const FlowNodes& nodes, const std::vector<int>& latest)
        : m_nodes(nodes), m_chosen(nodes.size()), m_behind(nodes.size()), m_leads(nodes.size()) {
        std::vector<bool> places(nodes.size());  // whether a node is an MpmTopK, or depends only on MpmTopKs
        for (size_t i = 0; i < nodes.size(); ++i) {
            const bool gathers = hasType(i, "MpmGatherRows");
            size_t live = 0, found = 0, rows = 0;
            for (const size_t input : nodes[i].inputs) {
                if (!nodes[input].live) continue;
                ++live;
                found += places[input] ? 1 : 0;
                rows += m_behind[input] ? 0 : 1;
                m_behind[i] = m_behind[i] || m_behind[input];
            }
            if (!m_behind[i] && latest[i] > 0 && hasType(i, "MpmTopK")) {
                m_chosen[i] = m_behind[i] = places[i] = m_any = true;
            } else if (found > 0) {
                m_chosen[i] = gathers && found + rows == live;
                places[i] = !gathers && !hasType(i, "MpmTopK") && found == live;
            }
        }
        for (size_t i = nodes.size(); i-- > 0;) {
            for (const size_t reader : nodes[i].readers)
                m_leads[i] = m_leads[i] || m_chosen[reader] || m_leads[reader];
            m_chosen[i] = m_chosen[i] || (places[i] && m_leads[i]);
        }
    }

    /// Returns the name of the part to which a node belongs. The node must depend on the encoder.
    std::string partOf(size_t i) const {
        if (!m_any) return "behind the encoder";
        if (m_chosen[i]) return "selection";
        if (m_behind[i]) return "decoder";
        return m_leads[i] ? "neck" : "other";
    }

private:
    /// Returns whether the type of node `i` is `name`. In OpenCV 4, types begin with the domain: "mpm.X".
    bool hasType(size_t i, const std::string& name) const {
        return m_nodes[i].type == name || m_nodes[i].type == "mpm." + name;
    }

    const FlowNodes& m_nodes;
    std::vector<bool> m_chosen, m_behind, m_leads;
    bool m_any = false;
};

/// Finds the name of the part to which each node belongs.
class PartNames {
public:
    PartNames(const FlowNodes& nodes, const EncoderLayers& encoders)
        : m_nodes(nodes),
          m_segment(nodes.size()),
          m_latest(nodes.size()),
          m_other(nodes.size()),
          m_leads(nodes.size()),
          m_firstOnly(nodes.size()),
          m_joins(nodes.size()),
          m_single(encoders.segments.size() == 1) {
        for (size_t i = 0; i < nodes.size(); ++i) {
            const auto at = std::find(encoders.segments.begin(), encoders.segments.end(), nodes[i].id);
            if (at != encoders.segments.end())
                m_segment[i] = static_cast<int>(at - encoders.segments.begin()) + 1;
            m_other[i] = std::count(encoders.others.begin(), encoders.others.end(), nodes[i].id) > 0;
        }
        lookBack();
        lookAhead();
        findJoins();
        m_selection = std::make_unique<const Selection>(nodes, m_latest);
    }

    std::string of(size_t i) const {
        if (m_segment[i] > 0)
            return m_single ? "encoder" : "encoder, segment " + std::to_string(m_segment[i]);
        if (m_other[i]) return "decoder blocks";
        if (m_latest[i] > 0 && m_leads[i])
            return "between segments " + std::to_string(m_latest[i]) + " and " +
                   std::to_string(m_latest[i] + 1);
        if (m_latest[i] > 0) return m_selection->partOf(i);
        if (!m_firstOnly[i]) return "beside the patch embedding";
        if (m_joins[i]) return "into the encoder";
        return "patch embedding";
    }

private:
    /// Finds, for each node, the latest segment of the encoder on which the node depends.
    void lookBack() {
        for (size_t i = 0; i < m_nodes.size(); ++i) {
            m_latest[i] = m_segment[i];
            for (const size_t input : m_nodes[i].inputs)
                m_latest[i] = std::max(m_latest[i], m_latest[input]);
        }
    }

    /// Finds whether any segment depends on a node, and whether only the first segment depends on the node.
    void lookAhead() {
        for (size_t i = m_nodes.size(); i-- > 0;) {
            m_firstOnly[i] = !m_nodes[i].readers.empty();
            for (const size_t reader : m_nodes[i].readers) {
                m_leads[i] = m_leads[i] || m_segment[reader] > 0 || m_leads[reader];
                m_firstOnly[i] = m_firstOnly[i] &&
                                 (m_segment[reader] == 1 || (m_segment[reader] == 0 && m_firstOnly[reader]));
            }
        }
    }

    /// Finds nodes that depend on a layer that also feeds something other than the first segment. An example
    /// is the first injector of a ViT-Adapter.
    void findJoins() {
        for (size_t i = 0; i < m_nodes.size(); ++i)
            for (const size_t input : m_nodes[i].inputs)
                m_joins[i] = m_joins[i] || (m_nodes[input].live && (m_joins[input] || !m_firstOnly[input]));
    }

    const FlowNodes& m_nodes;
    std::vector<int> m_segment, m_latest;  ///< numbered from 1; 0: none
    std::vector<bool> m_other, m_leads, m_firstOnly, m_joins;
    std::unique_ptr<const Selection> m_selection;
    bool m_single;
};

}  // namespace

LayerParts::LayerParts(cv::dnn::Net& net, const std::string& output) {
    FlowNodes nodes;
    try {
        nodes = nodesOf(net, output);
    } catch (const cv::Exception&) {
        return;  // the engine does not report the inputs of layers
    }
    const PartNames parts(nodes, encoderLayers(net));
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes[i].live) continue;
        const std::string name = parts.of(i);
        const auto found = std::find(m_names.begin(), m_names.end(), name);
        m_entries.push_back({nodes[i].timing, static_cast<size_t>(found - m_names.begin())});
        if (found == m_names.end()) m_names.push_back(name);
    }
}

std::vector<double> LayerParts::times(cv::dnn::Net& net) const {
    std::vector<double> ticks, sums(m_names.size(), 0.0);
    net.getPerfProfile(ticks);
    double whole = 0;
    for (const Entry& entry : m_entries) {
        if (entry.timing >= ticks.size()) return {};
        const double ms = 1e3 * ticks[entry.timing] / cv::getTickFrequency();
        sums[entry.part] += ms;
        whole += ms;
    }
    return whole > 0 ? sums : std::vector<double>();
}

}  // namespace mpm::pipeline
