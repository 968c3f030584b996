#include "scramble.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>

#include <onnx/onnx_pb.h>

namespace mpm::test {
namespace {

class Scrambler {
public:
    Scrambler(onnx::GraphProto& graph, uint32_t seed) : m_graph(graph), m_random(seed) {
        for (const auto& port : graph.input())
            m_names[port.name()] = port.name();
        for (const auto& port : graph.output())
            m_names[port.name()] = port.name();
    }

    void run() { run(m_graph); }

private:
    // Subgraphs use names of the outer graph, so they get the same new names.
    void run(onnx::GraphProto& graph) {
        graph.clear_value_info();
        for (auto& tensor : *graph.mutable_initializer())
            rename(*tensor.mutable_name());
        for (auto& node : *graph.mutable_node()) {
            node.set_name("n" + std::to_string(m_random()));
            node.clear_doc_string();
            for (auto& name : *node.mutable_input())
                rename(name);
            for (auto& name : *node.mutable_output())
                rename(name);
            const bool commutes =
                (node.op_type() == "Add" || node.op_type() == "Mul") && node.input_size() == 2;
            if (commutes && m_random() % 2) node.mutable_input()->SwapElements(0, 1);
            for (auto& attribute : *node.mutable_attribute()) {
                if (attribute.has_g()) run(*attribute.mutable_g());
            }
        }
        for (auto& port : *graph.mutable_output())
            rename(*port.mutable_name());
        shuffle(*graph.mutable_node());
        shuffle(*graph.mutable_initializer());
    }

    void rename(std::string& name) {
        if (name.empty()) return;
        std::string& other = m_names[name];
        if (other.empty()) other = "v" + std::to_string(m_names.size()) + "x" + std::to_string(m_random());
        name = other;
    }

    template <typename List>
    void shuffle(List& list) {
        for (int k = list.size() - 1; k > 0; --k)
            list.SwapElements(k, static_cast<int>(m_random() % (k + 1)));
    }

    onnx::GraphProto& m_graph;
    std::mt19937 m_random;
    std::map<std::string, std::string> m_names;
};

}  // namespace

void scrambleModel(const std::string& from, const std::string& to, uint32_t seed) {
    onnx::ModelProto model;
    std::ifstream in(from, std::ios::binary);
    if (!model.ParseFromIstream(&in)) throw std::runtime_error("cannot read " + from);
    Scrambler(*model.mutable_graph(), seed).run();
    std::ofstream out(to, std::ios::binary);
    model.SerializeToOstream(&out);
}

}  // namespace mpm::test
