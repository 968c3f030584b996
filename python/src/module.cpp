// The extension module _mpm: functions on tokens, exceptions, and the parts of bindings.hpp.
#include <exception>

#include <pybind11/stl.h>

#include <mpm/mpm.hpp>

#include "models/onnx/ir/refusal.hpp"
#include "pipeline/measure/error.hpp"
#include "pipeline/segment/model_file.hpp"
#include "pipeline/source/source_error.hpp"
#include "python/src/arguments.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"

namespace mpm::python {

namespace {

Merged merge(const py::object& tokens, int special) {
    const HeldMat rows = tokensFrom(tokens, "tokens");
    const py::gil_scoped_release release;
    return mergeTokens(rows.mat, special);
}

py::object restore(const py::object& tokens, const py::object& map, int special) {
    const HeldMat rows = tokensFrom(tokens, "tokens"), ids = mapFrom(map, "map");
    cv::Mat restored;
    {
        const py::gil_scoped_release release;
        restored = restoreTokens(rows.mat, ids.mat, special);
    }
    return arrayFrom(restored);
}

py::object compose(const py::object& first, const py::object& second) {
    const HeldMat before = mapFrom(first, "first"), after = mapFrom(second, "second");
    return arrayFrom(composeMaps(before.mat, after.mat), true);
}

/// Errors of the library become mpm.Error, with the message alone.
void translate(std::exception_ptr thrown, const py::object& type) {
    const auto raise = [&](const std::string& text) { PyErr_SetString(type.ptr(), text.c_str()); };
    try {
        std::rethrow_exception(thrown);
    } catch (const cv::Exception& error) {
        raise(error.err);
    } catch (const models::Refusal& error) {
        raise(error.what());
    } catch (const pipeline::ModelError& error) {
        raise(error.what());
    } catch (const pipeline::MeasureError& error) {
        raise(error.what());
    } catch (const pipeline::SourceError& error) {
        raise(error.what());
    }
}

}  // namespace

PYBIND11_MODULE(_mpm, module) {
    module.doc() = "Mutual Pair Merging for vision transformers; use the package mpm.";
    static py::exception<std::runtime_error> error(module, "Error", PyExc_RuntimeError);
    error.attr("__doc__") = "A model, a file or a setting that cannot be used.";
    error.attr("__module__") = "mpm";
    py::register_exception_translator([](std::exception_ptr thrown) {
        if (thrown) translate(thrown, error);
    });
    py::class_<Merged> merged(module, "Merged", "Tokens after one merge, and their map.");
    rejectUnfinished(merged)
        .def("__repr__",
             [](const Merged& m) {
                 return cv::format("Merged(%d rows of %d values from %d image tokens)", m.tokens.rows,
                                   m.tokens.cols, static_cast<int>(m.map.total()));
             })
        .def_property_readonly(
            "tokens", [](const Merged& m) { return arrayFrom(m.tokens); }, "float32: mean of each cluster.")
        .def_property_readonly(
            "map", [](const Merged& m) { return arrayFrom(m.map, true); },
            "int32: cluster of each image token.");
    module.def("merge", &merge, py::arg("tokens"), py::arg("special") = 0,
               "One merge by mutual pairs. tokens: float32, (special + tokens, values).");
    module.def("restore", &restore, py::arg("tokens"), py::arg("map"), py::arg("special") = 0,
               "The inverse of merge(): every token gets its cluster's row.");
    module.def("compose", &compose, py::arg("first"), py::arg("second"),
               "One map for two merges: result[i] = second[first[i]].");
    module.def(
        "version", [] { return std::string(mpm::version()); }, "MAJOR.MINOR.PATCH");
    bindModel(module);
    bindConvert(module);
    bindMeasure(module);
    bindOperators(module);
}

}  // namespace mpm::python
