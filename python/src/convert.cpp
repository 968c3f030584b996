// mpm.convert and mpm.info.
#include <pybind11/stl.h>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "pipeline/dataset/classes.hpp"
#include "python/src/arguments.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"

namespace mpm::python {

namespace {

using Three = std::array<double, 3>;

std::optional<cv::Scalar> scalarFrom(const std::optional<Three>& values) {
    if (!values) return std::nullopt;
    return cv::Scalar((*values)[0], (*values)[1], (*values)[2]);
}

Three threeOf(const cv::Scalar& values) {
    return {values[0], values[1], values[2]};
}

bool isSecond(const std::string& name, const std::string& value, const char* first, const char* second) {
    if (value != first && value != second)
        throw py::value_error(name + ": expected '" + first + "' or '" + second + "', got '" + value + "'");
    return value == second;
}

std::string describeInfo(const ModelInfo& info) {
    return cv::format("ModelInfo(%dx%d, %d labels, blocks %s)", info.size.height, info.size.width,
                      static_cast<int>(info.labels.size()), blocksText(info.schedule).c_str());
}

models::Conversion convert(const py::object& from, const py::object& to, const py::object& blocks,
                           const std::string& form, const py::object& size, int batch,
                           const std::string& head, const py::object& classFile,
                           const std::optional<Three>& mean, const std::optional<Three>& deviation) {
    const std::string input = pathFrom(from, "input"), output = pathFrom(to, "output");
    const std::string labels = pathFrom(classFile, "labels");
    models::ConvertOptions options;
    if (!blocks.is_none()) options.blocks = blocksFrom(blocks);
    options.form = isSecond("form", form, "fused", "layers") ? models::Form::Layers : models::Form::Fused;
    options.size = sizeFrom(size);
    options.batch = batch;
    options.labels = isSecond("head", head, "logits", "labels");
    options.mean = scalarFrom(mean), options.deviation = scalarFrom(deviation);
    const py::gil_scoped_release release;
    if (!labels.empty()) {
        const pipeline::Classes classes = pipeline::readClasses(labels);
        options.classes = classes.names;
        options.palette = classes.palette;
        options.allClasses = true;
    }
    return models::convertModel(input, output, options);
}

std::vector<std::array<int, 3>> paletteOf(const mpm::ModelInfo& info) {
    std::vector<std::array<int, 3>> colours;
    for (const cv::Vec3b& c : info.palette)
        colours.push_back({c[0], c[1], c[2]});
    return colours;
}

}  // namespace

void bindConvert(py::module_& module) {
    py::class_<models::Conversion> conversion(module, "Conversion", "A finished conversion.");
    rejectUnfinished(conversion)
        .def("__repr__",
             [](const models::Conversion& c) {
                 return "Conversion(blocks " + blocksText(c.schedule) + cv::format(", error %.1e)", c.error);
             })
        .def_property_readonly(
            "blocks", [](const models::Conversion& c) { return py::tuple(py::cast(c.schedule)); },
            "The blocks before which tokens merge.")
        .def_readonly("error", &models::Conversion::error,
                      "Largest difference from the export, relative to the largest value.")
        .def_readonly("notes", &models::Conversion::notes, "Warnings.")
        .def("__str__", [](const models::Conversion& c) { return models::describe(c); });
    module.def(
        "convert", &convert, py::arg("input"), py::arg("output"), py::kw_only(),
        py::arg("blocks") = py::none(), py::arg("form") = "fused", py::arg("size") = py::none(),
        py::arg("batch") = 0, py::arg("head") = "logits", py::arg("labels") = "",
        py::arg("mean") = py::none(), py::arg("std") = py::none(),
        "Converts the ONNX export of a vision transformer into a model for OpenCV, as `mpm convert` does.");
    py::class_<ModelInfo> info(module, "ModelInfo", "The metadata of a model file.");
    rejectUnfinished(info)
        .def("__repr__", &describeInfo)
        .def_readonly("labels", &ModelInfo::labels, "Class names by id.")
        .def_property_readonly("palette", &paletteOf, "RGB by id.")
        .def_property_readonly(
            "size", [](const ModelInfo& i) { return sizeTuple(i.size); }, "Of the input, (rows, columns).")
        .def_property_readonly(
            "mean", [](const ModelInfo& i) { return threeOf(i.mean); }, "RGB, for values of 0 to 1.")
        .def_property_readonly(
            "std", [](const ModelInfo& i) { return threeOf(i.std); }, "RGB, for values of 0 to 1.")
        .def_property_readonly(
            "blocks", [](const ModelInfo& i) { return py::tuple(py::cast(i.schedule)); },
            "The blocks before which tokens merge.");
    module.def(
        "info",
        [](const py::object& file) {
            const std::string path = pathFrom(file, "path");
            const py::gil_scoped_release release;
            return modelInfo(path);
        },
        py::arg("path"), "Reads the metadata of a model file.");
}

}  // namespace mpm::python
