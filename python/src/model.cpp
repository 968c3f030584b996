// mpm.Model and mpm.Result.
#include <pybind11/stl.h>

#include <mpm/read_net.hpp>

#include "pipeline/segment/names.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"
#include "python/src/segmenter.hpp"

namespace mpm::python {

namespace {

/// A result with the image that it was computed from, which the overlay needs.
struct PyResult {
    Result result;
    py::object image;
    py::object drawn = py::none();
};

cv::Size sizeOf(const std::optional<std::pair<int, int>>& size) {
    if (!size) return {};
    if (size->first < 1 || size->second < 1) throw py::value_error("size: expected (rows, columns), above 0");
    return {size->second, size->first};
}

py::object call(Segmenter& model, const py::object& given) {
    const bool several = py::isinstance<py::list>(given) || py::isinstance<py::tuple>(given);
    std::vector<py::object> images;
    if (several)
        for (const py::handle& image : given)
            images.push_back(py::reinterpret_borrow<py::object>(image));
    else
        images.push_back(given);
    if (images.empty()) throw py::value_error("images: expected at least one");
    std::vector<cv::Mat> views;
    for (size_t i = 0; i < images.size(); ++i)
        views.push_back(imageFrom(images[i], several ? "images[" + std::to_string(i) + "]" : "image"));
    std::vector<Result> results;
    {
        const py::gil_scoped_release release;
        results = model.run(views);
    }
    py::list list;
    for (size_t i = 0; i < images.size(); ++i)
        list.append(PyResult{std::move(results[i]), images[i]});
    return several ? py::object(list) : py::object(list[0]);
}

py::object overlay(PyResult& self) {
    if (self.drawn.is_none()) {
        const cv::Mat image = imageFrom(self.image, "image");
        cv::Mat drawn;
        {
            const py::gil_scoped_release release;
            drawn = self.result.overlay(image);
        }
        self.drawn = arrayFrom(drawn);
    }
    return self.drawn;
}

/// Changes the network's encoder when no thread uses it.
template <class Body>
void change(Segmenter& model, const Body& body) {
    const py::gil_scoped_release release;
    model.with([&](pipeline::Network& network) { body(network, network.encoder()); });
}

void setPrecision(Segmenter& model, const std::string& name) {
    const std::optional<Precision> precision = pipeline::precisionFrom(name);
    if (!precision)
        throw py::value_error("precision: expected f32, tf32, bf16, f16, i8, auto or auto-fast, got '" +
                              name + "'");
    change(model, [&](const pipeline::Network&, Encoder& encoder) { encoder.setPrecision(*precision); });
    model.precision = name;
}

void setDevice(Segmenter& model, const std::string& name) {
    const bool cuda = name.rfind("cuda", 0) == 0;
    const std::string number = name.size() > 5 && name[4] == ':' ? name.substr(5) : "";
    const bool numbered = cuda && !number.empty() && number.size() < 4 &&
                          number.find_first_not_of("0123456789") == std::string::npos;
    if (name != "cpu" && name != "auto" && name != "cuda" && !numbered)
        throw py::value_error("device: expected cpu, cuda, cuda:N or auto, got '" + name + "'");
    const Device device = cuda ? Device::Cuda : name == "cpu" ? Device::Cpu : Device::Auto;
    change(model, [&](const pipeline::Network&, Encoder& encoder) {
        encoder.setDevice(device, numbered ? std::stoi(number) : 0);
    });
    model.device = name;
}

void setReuse(Segmenter& model, const py::object& value) {
    const bool words = py::isinstance<py::str>(value);
    if (!words && !py::isinstance<py::bool_>(value))
        throw py::type_error("reuse: expected True, False or text");
    const std::string text = words ? value.cast<std::string>() : value.cast<bool>() ? "on" : "off";
    change(model, [&](const pipeline::Network& network, Encoder& encoder) {
        encoder.setReuse(mpm::reuseFrom(text, network.reuse()));
    });
    model.reuse = text;
}

py::object getReuse(const Segmenter& model) {
    if (model.reuse == "on" || model.reuse == "off") return py::bool_(model.reuse == "on");
    return py::str(model.reuse);
}

py::tuple getBlocks(Segmenter& model) {
    std::vector<int> blocks;
    change(model, [&](const pipeline::Network&, Encoder& encoder) { blocks = encoder.schedule(); });
    return py::tuple(py::cast(blocks));
}

void bindResult(py::module_& module) {
    py::class_<ResultTimes>(module, "Times", "Milliseconds; of the whole batch, except labels.")
        .def_readonly("prepare", &ResultTimes::prepare, "Image to network input.")
        .def_readonly("network", &ResultTimes::network, "Input to output, encoder included.")
        .def_readonly("labels", &ResultTimes::labels, "Output to labels, of this image.")
        .def_readonly("encoder", &ResultTimes::encoder, "The merging encoder.")
        .def_readonly("merge", &ResultTimes::merge, "All merges.")
        .def_readonly("restore", &ResultTimes::restore, "All restores.");
    py::class_<PyResult>(module, "Result", "The result for one image. It stays valid without the model.")
        .def_property_readonly(
            "labels", [](const PyResult& r) { return arrayFrom(r.result.labels); },
            "Class ids of the image's size, uint8 or uint16; None where the model has no classes.")
        .def_property_readonly(
            "features", [](const PyResult& r) { return arrayFrom(r.result.features); },
            "The network's output for this image: logits, features, or ids.")
        .def_property_readonly("overlay", &overlay,
                               "The image with the classes' colours, uint8 BGR; without classes the merge "
                               "map. Drawn at the first use, over the image as it is then.")
        .def_property_readonly(
            "tokens", [](const PyResult& r) { return r.result.tokens.tokens; },
            "Image tokens that entered each block.")
        .def_property_readonly(
            "map", [](const PyResult& r) { return arrayFrom(r.result.tokens.map, true); },
            "int32: final cluster of each image token.")
        .def_property_readonly(
            "grid", [](const PyResult& r) { return sizeFrom(r.result.grid); },
            "Image tokens as (rows, columns).")
        .def_property_readonly(
            "recomputed", [](const PyResult& r) { return r.result.tokens.reuse.recomputed; },
            "Share of the image tokens that were computed: 1 without reuse.")
        .def_property_readonly(
            "times", [](const PyResult& r) { return r.result.times; }, "Milliseconds.")
        .def_property_readonly(
            "device", [](const PyResult& r) { return r.result.device; }, "The device that ran.")
        .def_property_readonly(
            "precision", [](const PyResult& r) { return r.result.precision; }, "The precision that ran.")
        .def_property_readonly(
            "classes", [](const PyResult& r) { return r.result.classes; }, "Class names by id.");
}

}  // namespace

void bindModel(py::module_& module) {
    bindResult(module);
    py::class_<Segmenter>(
        module, "Model", "A converted model. Several threads may call one model; it runs one call at a time.")
        .def(py::init([](const std::string& model, const std::optional<std::pair<int, int>>& size) {
                 const cv::Size wanted = sizeOf(size);
                 const py::gil_scoped_release release;
                 return std::make_unique<Segmenter>(model, wanted);
             }),
             py::arg("model") = "default", py::arg("size") = py::none(),
             "model: an ONNX file of mpm.convert(), or 'default'. size: (rows, columns), where the file "
             "leaves "
             "them open.")
        .def("__call__", &call, py::arg("image"),
             "Runs the model on one image (uint8 BGR) or a list of them.")
        .def_property(
            "blocks", &getBlocks,
            [](Segmenter& m, const std::vector<int>& blocks) {
                change(m, [&](const pipeline::Network&, Encoder& encoder) { encoder.setSchedule(blocks); });
            },
            "The blocks before which tokens merge, counted from 0; () runs all tokens.")
        .def_property(
            "precision", [](const Segmenter& m) { return m.precision; }, &setPrecision,
            "f32, tf32, bf16, f16, i8, auto or auto-fast.")
        .def_property(
            "device", [](const Segmenter& m) { return m.device; }, &setDevice, "cpu, cuda, cuda:N or auto.")
        .def_property("reuse", &getReuse, &setReuse,
                      "Reuse over time: True, False, or values such as 'refresh=30,full=0.25'.")
        .def(
            "forget",
            [](Segmenter& m) {
                change(m, [](const pipeline::Network&, Encoder& encoder) { encoder.forget(); });
            },
            "With reuse, the next call computes all tokens.")
        .def_property_readonly(
            "size", [](const Segmenter& m) { return sizeFrom(m.info().size); },
            "Of the network's input, (rows, columns).")
        .def_property_readonly(
            "classes", [](const Segmenter& m) { return m.info().labels; }, "Class names by id.")
        .def_property_readonly("path", &Segmenter::path, "The model file.");
}

}  // namespace mpm::python
