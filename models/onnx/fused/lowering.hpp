// Writes the graph around the encoder in operators of OpenCV 4.6 or domain mpm. For lower*.cpp only.
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
    // Gives every node to `write`, which writes what takes its place.
    void rewrite(Method write);
    void lowerNode();

    // Values that follow from the batch size alone are only read by nodes whose shapes hold the same.
    bool followsFromShapes() const;

    // Rejects a graph that needs a value that was skipped.
    void checkComplete() const;
    [[noreturn]] void fail(const std::string& reason) const;
    int in(size_t k) const { return m_node->inputs[k]; }
    int out() const { return m_node->outputs[0]; }
    const Shape& shapeOf(int value) const { return m_shapes.of(value); }
    const Tensor& known(size_t k) const;
    Node& emit(const std::string& op, const std::string& domain, const List<int>& inputs, int output);
    int ints(const List<int64_t>& values);
    void keep() { m_graph.nodes.push_back(*m_node); }

    // A Reshape to the same shape is the identity that every OpenCV has.
    void pass() { emitReshape(in(0), out(), shapeOf(in(0))); }
    void reshape() { emitReshape(in(0), out(), shapeOf(in(0))); }

    // The batch axis of the target is copied from the input if possible, else inferred.
    void emitReshape(int from, int to, const Shape& source);

    // A value as the node's output; its batch axes are those of `source`.
    void reshapeLike(int value, int source);

    // A value that is the same for every image of the batch, as a constant for one: broadcasting repeats it.
    int oneImage(int value);
    void matMul();
    void arithmetic();
    void emitArithmetic(int a, int b, bool reversed);  ///< `reversed`: b is the left operand

    // A constant with ones in front: OpenCV 4.x turns vectors into columns.
    int ranked(int constant, size_t rank);
    void function();
    void linear() { emit("MpmLinear", "mpm", m_node->inputs, out()); }
    void layerNorm();
    // Whether the elements keep their order, because only axes of size 1 move.
    bool keepsElements(const List<int64_t>& order) const;
    void transpose();
    // A transpose of a lowered graph by the operator of version 2, or as a Reshape.
    void ownTranspose();
    void ownSoftmax();
    void emitSlice(int from, int to, int64_t axis, int64_t start, int64_t end);
    void emitPicked(int from, int to, int64_t axis, const List<int64_t>& index);
    List<int64_t> listOf(size_t input, const char* attribute) const;
    void slice();
    void everyFew(int64_t axis, int64_t start, int64_t step);
    void split();

    // Picking one index, or adjacent ones, is a slice.
    void gather();
    void gatherND();
    void pick(int64_t axis, int64_t depth, const List<int64_t>& places);
    bool isTable(const Shape& picked) const;
    void lookUp();
    void topK();
    // Several values in their order: of rows, as MpmTopK takes them.
    void bestOf(int64_t axis, bool largest, int64_t count);
    // A value of `shape`, whose first axis is the batch of `source`.
    List<int64_t> openBatch(const Shape& shape, int source) const;
    void convert();
    void integerArithmetic();
    void tile();
    void where();
    void choose();  // by a computed condition
    // Conditions are 1 or 0.
    void needSelection() const;
    void compareNumbers();
    void combineConditions();
    int asNumbers(int value);
    int numbered(float value);
    void concat();
    // Computes a / b, the integer part towards zero, or the remainder.
    void integerQuotient(int a, int b);
    /// The result is `output`, or a new value named after the node's output.
    Node& compute(const std::string& operation, int a, int b, int output);
    int compute(const std::string& operation, int a, int b, const char* part);
    int apply(const std::string& function, int a, int output);  ///< returns `output`
    int fresh(const char* part);                                ///< a value named after the node's output

    // In a graph that selects by score, the integers that it computes are f32 between the operators.
    void takeSizesAsFloats();
    void giveIntegers();

    // Adding zeros of the wanted shape broadcasts.
    void expand();
    // Zeros of this rank, as many as images along `axis`.
    int batchOfZeros(size_t axis, size_t rank);
    void softmax();
    void resize();
    void gridSample();
    void convolution();
    /// Whether ours is faster than OpenCV's, so that it is worth its place.
    bool takesOwnConvolution(const Tensor& weight) const;
    void ownConvolution();
    // The inputs of a convolution of ours.
    List<int> convolved(int weight) const;
    void convTranspose();

    // OpenCV 4.6 does not accept absent inputs.
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
