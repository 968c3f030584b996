// Single operators in the C interface. An OpenCV that is linked into another library (such as pip's cv2)
// cannot register libmpm's C++ layers, but its Python layers can call these operators.
#include <algorithm>
#include <memory>

#include <mpm/mpm.h>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "mpm_layer/dnn/small_layer.hpp"
#include "mpm_layer/interface/guard.hpp"
#include "mpm_layer/interface/operators.hpp"

struct mpm_operator {
    const mpm::dnn::Operator* entry = nullptr;
    cv::dnn::LayerParams params;
    cv::Ptr<cv::dnn::Layer> layer;  ///< null before mpm_operator_build()
};

namespace {

using mpm::guarded;
using mpm::dnn::Shape;

mpm_operator& checked(mpm_operator* op) {
    if (!op) CV_Error(cv::Error::StsNullPtr, "mpm: op is null");
    return *op;
}

mpm_operator& unbuilt(mpm_operator* op) {
    if (checked(op).layer) CV_Error(cv::Error::StsBadArg, "mpm: op is built already");
    return *op;
}

cv::dnn::Layer& builtLayer(mpm_operator* op) {
    if (!checked(op).layer) CV_Error(cv::Error::StsBadArg, "mpm: op is not built; call mpm_operator_build");
    return *op->layer;
}

template <class Value, class Make>
int setList(mpm_operator* op, const char* name, const Value* values, int count, const Make& value) {
    return guarded([&] {
        mpm_operator& to = unbuilt(op);
        if (!name || !values) CV_Error(cv::Error::StsNullPtr, "mpm: name or values are null");
        if (count < 1) CV_Error(cv::Error::StsBadArg, "mpm: count must be at least 1");
        to.params.set(name, value());
        return 0;
    });
}

std::vector<Shape> outputShapes(cv::dnn::Layer& layer, const mpm_array* inputs, int count) {
    if (!inputs && count > 0) CV_Error(cv::Error::StsNullPtr, "mpm: inputs are null");
    std::vector<Shape> in, out, internals;
    for (int i = 0; i < count; ++i) {
        const std::vector<int> sizes = mpm::sizesOf(inputs + i, "inputs");
        in.emplace_back(sizes.data(), sizes.data() + sizes.size());
    }
    layer.getMemoryShapes(in, 0, out, internals);
    return out;
}

void describe(const Shape& shape, mpm_array& array) {
    if (shape.size() > MPM_MAX_DIMS)
        CV_Error(cv::Error::StsBadArg, "mpm: an output has too many dimensions for mpm_array");
    array.type = MPM_F32;
    array.dims = static_cast<int>(shape.size());
    for (int k = 0; k < array.dims; ++k)
        array.sizes[k] = shape[k];
}

}  // namespace

void mpm_begin_network(void) {
    mpm::guarded([] {
        mpm::NetworkState::beginReading();
        return 0;
    });
}

void mpm_end_network(void) {
    mpm::NetworkState::endReading();
}

const char* mpm_operator_type(int index) {
    const std::vector<mpm::dnn::Operator>& all = mpm::dnn::operators();
    return index >= 0 && index < static_cast<int>(all.size()) ? all[index].type : nullptr;
}

mpm_operator* mpm_operator_new(const char* type) {
    const auto create = [&] {
        if (!type) CV_Error(cv::Error::StsNullPtr, "mpm: type is null");
        for (const mpm::dnn::Operator& entry : mpm::dnn::operators()) {
            if (std::string(type) != entry.type) continue;
            auto op = std::make_unique<mpm_operator>();
            op->entry = &entry;
            op->params.type = type;  // no name, because all operators of a network would have the same name
            return op.release();
        }
        CV_Error(cv::Error::StsBadArg, "mpm: there is no operator '" + mpm::printable(type, 80) + "'");
    };
    return guarded(create, static_cast<mpm_operator*>(nullptr));
}

int mpm_operator_set_ints(mpm_operator* op, const char* name, const int* values, int count) {
    return setList(op, name, values, count, [&] { return cv::dnn::DictValue::arrayInt(values, count); });
}

int mpm_operator_set_reals(mpm_operator* op, const char* name, const double* values, int count) {
    return setList(op, name, values, count, [&] { return cv::dnn::DictValue::arrayReal(values, count); });
}

int mpm_operator_set_text(mpm_operator* op, const char* name, const char* value) {
    return guarded([&] {
        mpm_operator& to = unbuilt(op);
        if (!name || !value) CV_Error(cv::Error::StsNullPtr, "mpm: name or value is null");
        to.params.set(name, cv::String(value));
        return 0;
    });
}

int mpm_operator_add_constant(mpm_operator* op, const mpm_array* constant) {
    return guarded([&] {
        unbuilt(op).params.blobs.push_back(mpm::matrixOf(constant, "constant"));
        return 0;
    });
}

int mpm_operator_build(mpm_operator* op) {
    return guarded([&] {
        mpm_operator& to = unbuilt(op);
        to.layer = to.entry->create(to.params);
        return 0;
    });
}

int mpm_operator_outputs(mpm_operator* op, const mpm_array* inputs, int count, mpm_array* outputs,
                         int capacity) {
    return guarded([&] {
        const std::vector<Shape> shapes = outputShapes(builtLayer(op), inputs, count);
        const int all = static_cast<int>(shapes.size()), room = std::min(all, capacity);
        if (!outputs && room > 0) CV_Error(cv::Error::StsNullPtr, "mpm: outputs are null");
        for (int i = 0; i < room; ++i)
            describe(shapes[i], outputs[i]);
        return all;
    });
}

int mpm_operator_run(mpm_operator* op, const mpm_array* inputs, int count, const mpm_array* outputs,
                     int capacity) {
    return guarded([&] {
        cv::dnn::Layer& layer = builtLayer(op);
        const std::vector<Shape> shapes = outputShapes(layer, inputs, count);
        const std::vector<cv::Mat> in = mpm::matricesOf(inputs, count, "inputs");
        std::vector<cv::Mat> out = mpm::matricesOf(outputs, capacity, "outputs"), internals;
        if (out.empty() || out.size() > shapes.size()) {
            CV_Error(cv::Error::StsBadArg, cv::format("mpm: capacity must be 1 to %d, the operator's outputs",
                                                      static_cast<int>(shapes.size())));
        }
        for (size_t i = 0; i < out.size(); ++i) {
            // Compares the sizes of the array, not of the matrix, because OpenCV 4.x turns vectors into
            // columns.
            if (mpm::sizesOf(outputs + i, "outputs") == mpm::dnn::sizesOf(shapes[i]) &&
                out[i].type() == CV_32F)
                continue;
            CV_Error(cv::Error::StsUnmatchedSizes,
                     cv::format("mpm: output %d must be MPM_F32 of the sizes ", static_cast<int>(i)) +
                         mpm::dnn::textOf(shapes[i]));
        }
        layer.forward(in, out, internals);
        return 0;
    });
}

void mpm_operator_free(mpm_operator* op) {
    delete op;
}
