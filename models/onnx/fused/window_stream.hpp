// The tokens of an encoder with windows, between the export's order of rows and the operator's.
#pragma once

#include "models/onnx/match/state.hpp"

namespace mpm::models {

class WindowStream {
public:
    WindowStream(Graph& graph, const Shapes& shapes, const EncoderSpec& encoder);

    /// The operator's tokens, from the embedded patches.
    int enter();

    /// What nodes read of a tap in the image's raster order comes from `tokens`, the operator's output; the
    /// tap itself too, if others read it. Throws Refusal if that is not possible.
    void leave(int tap, int tokens);

private:
    enum class Order { Other, ChannelsLast, ChannelsFirst };

    Order orderOf(int value, int tap) const;
    bool moves(const Node& node) const;
    void replace(int value, int tokens, Order order);
    int imageRows(int tokens);
    bool isRaster() const;
    bool isByWindow() const;
    void restore(int tap, int tokens);
    int joinSpecial(int images, int tokens);
    int reshape(int from, const Shape& shape, bool open, int to);
    int transpose(int from, const List<int64_t>& order, int to);
    int add(const char* op, const List<int>& inputs, int to);
    void release(int value);

    Graph& m_graph;
    const Shapes& m_shapes;
    const EncoderSpec& m_encoder;
    const Windows& m_windows;
    std::map<int, int> m_imageRows;  // by tokens
};

}  // namespace mpm::models
