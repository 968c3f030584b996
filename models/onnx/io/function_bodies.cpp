#include "models/onnx/io/read_tensor.hpp"

#include <limits>
#include <string>
#include <vector>

namespace mpm::models {
namespace {

class Body {
public:
    Body(onnx::ModelProto& model, const std::string& name, const std::vector<std::string>& inputs,
         const std::vector<std::string>& outputs)
        : m_function(*model.add_functions()) {
        m_function.set_name(name);
        m_function.set_domain("mpm");
        for (const std::string& input : inputs)
            m_function.add_input(input);
        for (const std::string& output : outputs)
            m_function.add_output(output);
        m_function.add_attribute("special_tokens");
        auto* set = m_function.add_opset_import();
        set->set_domain("");
        set->set_version(18);
        node("Constant", {}, "special_count");
        auto* attribute = m_last->add_attribute();
        attribute->set_name("value_int");
        attribute->set_type(onnx::AttributeProto::INT);
        attribute->set_ref_attr_name("special_tokens");
        ints("axis0", {0});
        ints("axis1", {1});
        node("Unsqueeze", {"special_count", "axis0"}, "special");
        ints("end", {std::numeric_limits<int64_t>::max()});
    }

    Body& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
        m_last = m_function.add_node();
        m_last->set_op_type(op);
        for (const std::string& input : inputs)
            m_last->add_input(input);
        m_last->add_output(output);
        return *this;
    }

    Body& with(const std::string& name, const Attribute& value) {
        writeAttribute(name, value, *m_last->add_attribute());
        return *this;
    }
    Body& with(const std::string& name, int64_t value) { return with(name, Attribute::of(value)); }

    void ints(const std::string& name, const List<int64_t>& values) {
        node("Constant", {}, name).with("value_ints", Attribute::of(values));
    }
    void number(const std::string& name, float value) {
        node("Constant", {}, name).with("value_float", Attribute::of(value));
    }
    void integer(const std::string& name, int64_t value) {
        node("Constant", {}, name).with("value_int", value);
    }

private:
    onnx::FunctionProto& m_function;
    onnx::NodeProto* m_last = nullptr;
};

// Divides each row by its largest absolute value, then by its norm, so that the norm neither overflows nor
// underflows. A row with NaN or Inf is `bad` and gets no pair.
void addUnitRows(Body& b) {
    b.number("zero", 0);
    b.number("one", 1);
    b.node("Mul", {"rows", "zero"}, "zeros");
    b.node("ReduceSum", {"zeros", "axis1"}, "sum_of_zeros");
    b.node("IsNaN", {"sum_of_zeros"}, "bad");
    b.node("Where", {"bad", "zero", "rows"}, "finite");
    b.node("Abs", {"finite"}, "size");
    b.node("ReduceMax", {"size", "axis1"}, "largest");
    b.node("Equal", {"largest", "zero"}, "none");
    b.node("Where", {"none", "one", "largest"}, "by");
    b.node("Div", {"finite", "by"}, "scaled");
    b.node("ReduceL2", {"scaled", "axis1"}, "length");
    b.node("Where", {"none", "one", "length"}, "divisor");
    b.node("Div", {"scaled", "divisor"}, "unit");
}

// Adds the matrix of products and its transpose, so that two rows have the same similarity in either order.
void addSimilarity(Body& b) {
    b.node("Transpose", {"unit"}, "unit_t");
    b.node("MatMul", {"unit", "unit_t"}, "one_way");
    b.node("Transpose", {"one_way"}, "other_way");
    b.node("Add", {"one_way", "other_way"}, "similarity");
    b.integer("i0", 0);
    b.integer("i1", 1);
    b.node("Shape", {"unit"}, "unit_shape");
    b.node("Gather", {"unit_shape", "i0"}, "count");
    b.node("Range", {"i0", "count", "i1"}, "self");
    b.node("Unsqueeze", {"self", "axis0"}, "self_row");
    b.node("Unsqueeze", {"self", "axis1"}, "self_column");
    b.node("Equal", {"self_row", "self_column"}, "eye");
    b.node("Transpose", {"bad"}, "bad_t");
    b.node("Or", {"eye", "bad"}, "eye_or_row");
    b.node("Or", {"eye_or_row", "bad_t"}, "never");
    b.number("lowest", -3.0e38f);
    b.node("Where", {"never", "lowest", "similarity"}, "candidates");
}

void addMap(Body& b) {
    b.node("ArgMax", {"candidates"}, "best").with("axis", 1).with("keepdims", 0);
    b.node("Gather", {"best", "best"}, "back");
    b.node("Equal", {"back", "self"}, "returned");
    b.node("Squeeze", {"bad", "axis1"}, "bad_list");
    b.node("Not", {"bad_list"}, "good");
    b.node("And", {"returned", "good"}, "mutual");
    b.node("Where", {"mutual", "best", "self"}, "partner");
    b.node("Min", {"partner", "self"}, "leader");
    b.node("Equal", {"leader", "self"}, "leads");
    b.node("Cast", {"leads"}, "leads_int").with("to", 7);
    b.node("CumSum", {"leads_int", "i0"}, "counted");
    b.node("Sub", {"counted", "i1"}, "ids");
    b.node("Gather", {"ids", "leader"}, "map_list");
    b.node("Unsqueeze", {"map_list", "axis0"}, "map");
}

void addMerge(onnx::ModelProto& model) {
    Body b(model, "MpmMerge", {"tokens"}, {"merged", "map", "counts"});
    b.node("Slice", {"tokens", "axis0", "special", "axis1"}, "front");
    b.node("Slice", {"tokens", "special", "end", "axis1"}, "image");
    b.node("Squeeze", {"image", "axis0"}, "rows");
    addUnitRows(b);
    addSimilarity(b);
    addMap(b);
    b.node("NonZero", {"leads"}, "leaders_matrix");
    b.node("Squeeze", {"leaders_matrix", "axis0"}, "leaders");
    b.node("Gather", {"partner", "leaders"}, "partners");
    b.node("Gather", {"rows", "leaders"}, "first_rows");
    b.node("Gather", {"rows", "partners"}, "second_rows");
    b.number("half", 0.5f);
    b.node("Mul", {"first_rows", "half"}, "first_half");
    b.node("Mul", {"second_rows", "half"}, "second_half");
    b.node("Add", {"first_half", "second_half"}, "means");
    b.node("Unsqueeze", {"means", "axis0"}, "means_batch");
    b.node("Concat", {"front", "means_batch"}, "merged").with("axis", 1);
    b.node("Shape", {"leaders"}, "counts");
}

void addRestore(onnx::ModelProto& model) {
    Body b(model, "MpmRestore", {"merged", "map"}, {"tokens"});
    b.node("Slice", {"merged", "axis0", "special", "axis1"}, "front");
    b.node("Slice", {"merged", "special", "end", "axis1"}, "image");
    b.node("Squeeze", {"map", "axis0"}, "ids");
    b.node("Gather", {"image", "ids"}, "rows").with("axis", 1);
    b.node("Concat", {"front", "rows"}, "tokens").with("axis", 1);
}

}  // namespace

void addFunctionBodies(onnx::ModelProto& model) {
    addMerge(model);
    addRestore(model);
}

}  // namespace mpm::models
