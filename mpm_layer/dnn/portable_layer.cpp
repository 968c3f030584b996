#include "mpm_layer/dnn/portable_layer.hpp"

#include <new>
#include <stdexcept>

#include "base/printable.hpp"
#include "mpm_layer/kernels/common/limits.hpp"

namespace mpm::dnn {
namespace {

struct SizesOf {
    const Shape& shape;

    struct Iterator {
        const Shape* shape;
        size_t at;
        int operator*() const { return (*shape)[static_cast<int>(at)]; }
        void operator++() { ++at; }
        bool operator!=(const Iterator& other) const { return at != other.at; }
    };
    Iterator begin() const { return {&shape, 0}; }
    Iterator end() const { return {&shape, shape.size()}; }
};

}  // namespace

Shape shapeOf(const cv::Mat& m) {
    return Shape(m.size.p, m.size.p + m.dims);
}

std::vector<Shape> shapesOf(const std::vector<cv::Mat>& mats) {
    std::vector<Shape> shapes;
    for (const cv::Mat& m : mats)
        shapes.push_back(shapeOf(m));
    return shapes;
}

std::string textOf(const Shape& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i)
        text += (i ? ", " : "") + std::to_string(shape[static_cast<int>(i)]);
    return text + "]";
}

void writeIntegers(const int* values, int count, cv::Mat& to, size_t offset) {
    if (to.depth() == CV_32F) {
        std::copy(values, values + count, to.ptr<float>() + offset);
    } else {
        CV_CheckDepthEQ(to.depth(), kInteger, "mpm: integer outputs are f32 or int64");
        std::copy(values, values + count, reinterpret_cast<std::int64_t*>(to.data) + offset);
    }
}

std::vector<int> readIntegers(const cv::Mat& from, const char* what) {
    const cv::Mat whole = from.isContinuous() ? from : from.clone();
    std::vector<int> values(whole.total());
    const auto convert = [&](const auto* data) {
        for (size_t i = 0; i < values.size(); ++i) {
            // Values out of range, NaN and fractions become -1, which is invalid in every map.
            const double v = static_cast<double>(data[i]);
            values[i] = v >= 0 && v < 2147483647.0 ? static_cast<int>(data[i]) : -1;
            if (static_cast<double>(values[i]) != v) values[i] = -1;
        }
    };
    if (whole.type() == CV_32F) {
        convert(whole.ptr<float>());
    } else if (whole.type() == CV_32S) {
        convert(whole.ptr<int>());
    } else if (whole.type() == kInteger) {
        convert(reinterpret_cast<const std::int64_t*>(whole.data));
    } else {
        CV_Error(cv::Error::StsBadArg, cv::format("mpm: %s must hold integers as f32, int32 or int64", what));
    }
    return values;
}

PortableLayer::PortableLayer(const cv::dnn::LayerParams& params)
    : VersionedLayer(params), m_network(std::make_shared<NetworkPlace>(params.name, networkPointer())) {}

void PortableLayer::finalize(cv::InputArrayOfArrays, cv::OutputArrayOfArrays) {
    m_network->allocate();
}

bool PortableLayer::getMemoryShapes(const std::vector<Shape>& in, int required, std::vector<Shape>& out,
                                    std::vector<Shape>& internals) const {
    internals.clear();
    checkShapes(in);
    out = outputShapes(in);
    for (const Shape& shape : out)
        checkShape(SizesOf{shape}, "mpm: the output of " + printable(type, 80));
    // The new engine expects only the outputs of the node; the other engines expect all outputs of the
    // operator.
    if (hasDynamicEngine() && required > 0 && static_cast<size_t>(required) < out.size())
        out.resize(required);
    return false;
}

void PortableLayer::checkShapes(const std::vector<Shape>& in) const {
    for (const Shape& shape : in)
        if (!shapeFits(SizesOf{shape}))
            rejectShape(SizesOf{shape}, "mpm: the input of " + printable(type, 80));
    for (const cv::Mat& m : blobs)
        if (!shapeFits(SizesOf{shapeOf(m)}))
            rejectShape(SizesOf{shapeOf(m)}, "mpm: a constant of " + printable(type, 80));
}

// Checks shapes again before computing. OpenCV 4.x turns vectors into columns, so the inputs may no longer
// have the shapes for which the outputs were allocated.
void PortableLayer::checkMats(const std::vector<cv::Mat>& in, const std::vector<cv::Mat>& out) const {
    const std::vector<Shape> shapes = shapesOf(in);
    checkShapes(shapes);
    const std::vector<Shape> expected = outputShapes(shapes);
    if (out.empty()) CV_Error(cv::Error::StsBadArg, "mpm: " + printable(type, 80) + " has no output");
    for (size_t i = 0; i < out.size() && !canResize(); ++i) {
        const bool fits = i < expected.size() && out[i].isContinuous() && out[i].channels() == 1 &&
                          out[i].total() == checkedTotal<size_t>(SizesOf{expected[i]});
        if (!fits) {
            CV_Error(cv::Error::StsUnmatchedSizes,
                     cv::format("mpm: output %d of %s has another shape than its inputs give it",
                                static_cast<int>(i), printable(type, 80).c_str()));
        }
    }
}

void PortableLayer::run(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) {
    m_network->run();
    checkMats(in, out);
    const auto noMemory = [this] {
        CV_Error(cv::Error::StsNoMem, "mpm: there is not enough memory for " + printable(type, 80));
    };
    try {
        compute(in, out);
    } catch (const std::bad_alloc&) {
        noMemory();
    } catch (const std::length_error&) {
        noMemory();
    }
}

}  // namespace mpm::dnn
