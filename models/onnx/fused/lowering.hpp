// Writes the graph around the encoder as operators of OpenCV 4.6 or domain mpm. Only lower*.cpp may include
// this header.
#pragma once

#include <map>

#include "models/onnx/eval/shapes.hpp"
#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

class Lowering {
public:
    Lowering(Graph& graph, const Shapes& shapes);
    void run();

private:
    using Method = void (Lowering::*)();

    static const std::map<std::string, Method>& methods();
    // Removes all nodes, and calls `write` for each node. `write` must add the nodes that replace m_node.
    void rewrite(Method write);
    void lowerNode();

    // Returns whether the values of all outputs are known from the shapes. If so, the node is not written,
    // because other nodes use the known values.
    bool followsFromShapes() const;

    // Throws Refusal if a node reads a value that no other node computes.
    void checkComplete() const;
    [[noreturn]] void fail(const std::string& reason) const;
    int in(size_t k) const { return m_node->inputs[k]; }
    int out() const { return m_node->outputs[0]; }
    const Shape& shapeOf(int value) const { return m_shapes.of(value); }
    const Tensor& known(size_t k) const;
    Node& emit(const std::string& op, const std::string& domain, const List<int>& inputs, int output);
    int ints(const List<int64_t>& values);
    void keep() { m_graph.nodes.push_back(*m_node); }

    // Copies the input to the output with a Reshape, which works in every version of OpenCV.
    void pass() { emitReshape(in(0), out(), shapeOf(in(0))); }
    void reshape() { emitReshape(in(0), out(), shapeOf(in(0))); }

    // Writes a Reshape to the shape of `to`. The size of the batch axis is 0 (copied from `from`) if
    // possible, else -1 (computed).
    void emitReshape(int from, int to, const Shape& source);

    // Reshapes `value`, which has the batch axes of `source`, to the shape of the node's output.
    void reshapeLike(int value, int source);

    // If a known value is the same for every image, returns a constant for a single image; else returns
    // `value`.
    int oneImage(int value);
    void matMul();
    void arithmetic();
    void emitArithmetic(int a, int b, bool reversed);  ///< `reversed`: b is the left operand

    // Adds leading axes of size 1 to a constant, up to max(`rank`, 2) axes, because OpenCV 4.x would turn a
    // vector into a column.
    int ranked(int constant, size_t rank);
    void function();
    void linear() { emit("MpmLinear", "mpm", m_node->inputs, out()); }
    void layerNorm();
    // Returns whether a transpose keeps the order of elements, because only axes of size 1 move.
    bool keepsElements(const List<int64_t>& order) const;
    void transpose();
    // In a lowered graph, replaces a Transpose with an MpmTranspose or a Reshape.
    void ownTranspose();
    void ownSoftmax();
    // In a lowered graph, makes linear layers with many rows compute in the precision of the encoder.
    void followEncoder();
    void emitSlice(int from, int to, int64_t axis, int64_t start, int64_t end);
    void emitPicked(int from, int to, int64_t axis, const List<int64_t>& index);
    List<int64_t> listOf(size_t input, const char* attribute) const;
    void slice();
    void everyFew(int64_t axis, int64_t start, int64_t step);
    void split();

    void gather();
    void gatherND();
    void pick(int64_t axis, int64_t depth, const List<int64_t>& places);
    bool isTable(const Shape& picked) const;
    void lookUp();
    void topK();
    // Writes an MpmTopK that gives the best `count` values along `axis`, in order, and their indices.
    void bestOf(int64_t axis, bool largest, int64_t count);
    // Returns `shape`, with -1 for axis 0 if axis 0 of `source` is a dynamic batch.
    List<int64_t> openBatch(const Shape& shape, int source) const;
    void convert();
    void integerArithmetic();
    void tile();
    void where();
    void choose();  // for a Where with a computed condition
    // In the following functions, conditions are f32 values: 1 for true, 0 for false.
    void needSelection() const;
    void compareNumbers();
    void combineConditions();
    int asNumbers(int value);
    int numbered(float value);
    void concat();
    // Computes a / b, rounded towards zero; if the node is a Mod, computes the remainder.
    void integerQuotient(int a, int b);
    /// Writes an MpmArithmetic with the result `output`, or a new value named after the node's output.
    Node& compute(const std::string& operation, int a, int b, int output);
    int compute(const std::string& operation, int a, int b, const char* part);
    int apply(const std::string& function, int a, int output);  ///< returns `output`
    int fresh(const char* part);  ///< adds a value named after the node's output

    // Convert the graph's integer inputs and outputs, because computed integers are f32 if m_selects is true.
    void takeSizesAsFloats();
    void giveIntegers();

    // Broadcasts the input by adding zeros of the output's shape.
    void expand();
    // Returns zeros of a shape with the batch size at `axis` and 1 at the other `rank` - 1 axes. Multiplies a
    // pixel of each image by 0, so that the number of zeros follows a dynamic batch.
    int batchOfZeros(size_t axis, size_t rank);
    void softmax();
    void resize();
    void gridSample();
    void convolution();
    /// Returns whether an MpmConv is faster than OpenCV's convolution.
    bool takesOwnConvolution(const Tensor& weight) const;
    void ownConvolution();
    List<int> convolved(int weight) const;
    void convTranspose();

    void pad();
    void clip();
    void reduce();
    bool sumsRows();

    Graph& m_graph;
    const Shapes& m_shapes;
    const bool m_selects;
    Node* m_node = nullptr;
};

}  // namespace mpm::models
