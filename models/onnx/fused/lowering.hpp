// A class that writes the graph around the encoder in operators of OpenCV 4.6 or domain mpm. For lower*.cpp
// only.
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
    // Calls `write` for every node. `write` must add the nodes that replace the node.
    void rewrite(Method write);
    void lowerNode();

    // Whether the shapes alone give all outputs. Such a node is skipped, because its readers take the values
    // from the shapes.
    bool followsFromShapes() const;

    // Rejects a graph that reads the output of a skipped node.
    void checkComplete() const;
    [[noreturn]] void fail(const std::string& reason) const;
    int in(size_t k) const { return m_node->inputs[k]; }
    int out() const { return m_node->outputs[0]; }
    const Shape& shapeOf(int value) const { return m_shapes.of(value); }
    const Tensor& known(size_t k) const;
    Node& emit(const std::string& op, const std::string& domain, const List<int>& inputs, int output);
    int ints(const List<int64_t>& values);
    void keep() { m_graph.nodes.push_back(*m_node); }

    // Writes a Reshape to the same shape, which is an identity in every OpenCV.
    void pass() { emitReshape(in(0), out(), shapeOf(in(0))); }
    void reshape() { emitReshape(in(0), out(), shapeOf(in(0))); }

    // Copies the batch axis of the target from the input if possible; else leaves it open.
    void emitReshape(int from, int to, const Shape& source);

    // Reshapes a value to the shape of the node's output, with the batch axes of `source`.
    void reshapeLike(int value, int source);

    // If a known value is the same for every image, returns a constant for a single image, which is
    // broadcast.
    int oneImage(int value);
    void matMul();
    void arithmetic();
    void emitArithmetic(int a, int b, bool reversed);  ///< `reversed`: b is the left operand

    // Returns the constant with leading axes of size 1, because OpenCV 4.x turns vectors into columns.
    int ranked(int constant, size_t rank);
    void function();
    void linear() { emit("MpmLinear", "mpm", m_node->inputs, out()); }
    void layerNorm();
    // Whether the elements keep their order, because only axes of size 1 move.
    bool keepsElements(const List<int64_t>& order) const;
    void transpose();
    // Replaces a transpose of a lowered graph by an MpmTranspose or a Reshape.
    void ownTranspose();
    void ownSoftmax();
    void emitSlice(int from, int to, int64_t axis, int64_t start, int64_t end);
    void emitPicked(int from, int to, int64_t axis, const List<int64_t>& index);
    List<int64_t> listOf(size_t input, const char* attribute) const;
    void slice();
    void everyFew(int64_t axis, int64_t start, int64_t step);
    void split();

    // Writes a slice for each run of adjacent indices.
    void gather();
    void gatherND();
    void pick(int64_t axis, int64_t depth, const List<int64_t>& places);
    bool isTable(const Shape& picked) const;
    void lookUp();
    void topK();
    // Writes the best `count` values and their indices, in order, by an MpmTopK of rows.
    void bestOf(int64_t axis, bool largest, int64_t count);
    // Returns `shape`. If its first axis is the batch of `source`, this axis is open.
    List<int64_t> openBatch(const Shape& shape, int source) const;
    void convert();
    void integerArithmetic();
    void tile();
    void where();
    void choose();  // writes a Where with a computed condition
    // In the next functions, conditions are 1 or 0.
    void needSelection() const;
    void compareNumbers();
    void combineConditions();
    int asNumbers(int value);
    int numbered(float value);
    void concat();
    // Computes a / b, rounded towards zero, or, for a Mod, the remainder.
    void integerQuotient(int a, int b);
    /// The result is `output`, or a new value named after the node's output.
    Node& compute(const std::string& operation, int a, int b, int output);
    int compute(const std::string& operation, int a, int b, const char* part);
    int apply(const std::string& function, int a, int output);  ///< returns `output`
    int fresh(const char* part);                                ///< a value named after the node's output

    // These convert integer inputs and outputs: operators of a graph that selects by score pass computed
    // integers as f32.
    void takeSizesAsFloats();
    void giveIntegers();

    // Adds zeros of the requested shape, so that the input is broadcast.
    void expand();
    // Computes zeros of this rank, with an entry along `axis` for each image.
    int batchOfZeros(size_t axis, size_t rank);
    void softmax();
    void resize();
    void gridSample();
    void convolution();
    /// Whether an MpmConv is faster than OpenCV's convolution here.
    bool takesOwnConvolution(const Tensor& weight) const;
    void ownConvolution();
    // Returns the inputs of an MpmConv or MpmConvTranspose.
    List<int> convolved(int weight) const;
    void convTranspose();

    // OpenCV 4.6 does not accept absent inputs, so all inputs are written.
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
