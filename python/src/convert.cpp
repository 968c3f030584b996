// mpm.convert and mpm.info.
#include <pybind11/stl.h>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "pipeline/dataset/classes.hpp"
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

models::Conversion convert(const std::string& input, const std::string& output,
                           const std::optional<std::vector<int>>& blocks, const std::string& form,
                           const std::optional<std::pair<int, int>>& size, int batch, const std::string& head,
                           const std::string& labels, const std::optional<Three>& mean,
                           const std::optional<Three>& deviation) {
    models::ConvertOptions options;
    options.blocks = blocks;
    options.form = isSecond("form", form, "fused", "layers") ? models::Form::Layers : models::Form::Fused;
    if (size) options.size = {size->second, size->first};
    options.batch = batch;
    options.labels = isSecond("output", head, "logits", "labels");
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
    py::class_<models::Conversion>(module, "Conversion", "A finished conversion.")
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
    py::class_<ModelInfo>(module, "ModelInfo", "The metadata of a model file.")
        .def_readonly("labels", &ModelInfo::labels, "Class names by id.")
        .def_property_readonly("palette", &paletteOf, "RGB by id.")
        .def_property_readonly(
            "size", [](const ModelInfo& i) { return sizeFrom(i.size); }, "Of the input, (rows, columns).")
        .def_property_readonly(
            "mean", [](const ModelInfo& i) { return threeOf(i.mean); }, "RGB, for values of 0 to 1.")
        .def_property_readonly(
            "std", [](const ModelInfo& i) { return threeOf(i.std); }, "RGB, for values of 0 to 1.")
        .def_property_readonly(
            "blocks", [](const ModelInfo& i) { return py::tuple(py::cast(i.schedule)); },
            "The blocks before which tokens merge.");
    module.def("info", &modelInfo, py::arg("path"), py::call_guard<py::gil_scoped_release>(),
               "Reads the metadata of a model file.");
}

}  // namespace mpm::python
