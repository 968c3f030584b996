// mpm.Model and mpm.Result.
#include <set>

#include <pybind11/stl.h>

#include <mpm/precisions.hpp>
#include <mpm/read_net.hpp>

#include "pipeline/segment/names.hpp"
#include "python/src/arguments.hpp"
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

bool isList(const py::handle& value) {
    return py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value);
}

/// A key for each name: text and numbers are different streams.
std::string streamFrom(const py::handle& value) {
    if (py::isinstance<py::str>(value)) return "text " + value.cast<std::string>();
    if (PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr()))
        return "number " + std::string(py::str(value));
    throw py::type_error("stream: expected text or a number, got " + std::string(py::repr(value)));
}

/// One stream for each image; none for None.
std::vector<std::string> streamsFrom(const py::object& given, bool several, size_t images) {
    std::vector<std::string> streams;
    if (given.is_none()) return streams;
    if (!several) return {streamFrom(given)};
    if (!isList(given)) throw py::type_error("stream: expected a list with the stream of each image");
    for (const py::handle& stream : py::tuple(given))
        streams.push_back(streamFrom(stream));
    if (streams.size() != images)
        throw py::value_error("stream: expected " + std::to_string(images) +
                              " streams, one for each image, got " + std::to_string(streams.size()));
    if (std::set<std::string>(streams.begin(), streams.end()).size() != images)
        throw py::value_error("stream: expected each stream once in a call");
    return streams;
}

py::object call(Segmenter& model, const py::object& given, const py::object& stream) {
    const bool several = isList(given);
    const py::tuple images = several ? py::tuple(given) : py::make_tuple(given);
    if (images.empty()) throw py::value_error("images: expected at least one");
    std::vector<HeldMat> held;
    std::vector<cv::Mat> views;
    for (size_t i = 0; i < images.size(); ++i) {
        held.push_back(imageFrom(images[i], several ? "images[" + std::to_string(i) + "]" : "image"));
        views.push_back(held.back().mat);
    }
    const std::vector<std::string> streams = streamsFrom(stream, several, images.size());
    std::vector<Result> results;
    {
        const py::gil_scoped_release release;
        results = model.run(views, streams);
    }
    py::list list;
    for (size_t i = 0; i < images.size(); ++i)
        list.append(PyResult{std::move(results[i]), images[i]});
    return several ? py::object(list) : py::object(list[0]);
}

py::object overlay(PyResult& self) {
    if (self.drawn.is_none()) {
        const HeldMat image = imageFrom(self.image, "image");
        cv::Mat drawn;
        {
            const py::gil_scoped_release release;
            drawn = self.result.overlay(image.mat);
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

void setBlocks(Segmenter& model, const py::object& value) {
    const std::vector<int> blocks = blocksFrom(value);
    change(model, [&](const pipeline::Network&, Encoder& encoder) { encoder.setSchedule(blocks); });
}

void setPrecision(Segmenter& model, const py::object& value) {
    const std::string expected = precisionNames(), name = textFrom(value, "precision", expected);
    const std::optional<Precision> precision = pipeline::precisionFrom(name);
    if (!precision) throw py::value_error("precision: expected " + expected + ", got '" + name + "'");
    change(model, [&](const pipeline::Network&, Encoder& encoder) { encoder.setPrecision(*precision); });
    model.precision = name;
}

void setDevice(Segmenter& model, const py::object& value) {
    constexpr const char* expected = "cpu, cuda, cuda:N or auto";
    const std::string name = textFrom(value, "device", expected);
    const bool cuda = name.rfind("cuda", 0) == 0;
    const std::string number = name.size() > 5 && name[4] == ':' ? name.substr(5) : "";
    const bool numbered = cuda && !number.empty() && number.size() < 4 &&
                          number.find_first_not_of("0123456789") == std::string::npos;
    if (name != "cpu" && name != "auto" && name != "cuda" && !numbered)
        throw py::value_error(std::string("device: expected ") + expected + ", got '" + name + "'");
    const Device device = cuda ? Device::Cuda : name == "cpu" ? Device::Cpu : Device::Auto;
    change(model, [&](const pipeline::Network&, Encoder& encoder) {
        encoder.setDevice(device, numbered ? std::stoi(number) : 0);
    });
    model.device = name;
}

void setReuse(Segmenter& model, const py::object& value) {
    const bool words = py::isinstance<py::str>(value);
    if (!words && !py::isinstance<py::bool_>(value))
        throw py::type_error("reuse: expected True, False or text such as 'refresh=30,full=0.25', got " +
                             std::string(py::repr(value)));
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

std::vector<int> blocksOf(Segmenter& model) {
    std::vector<int> blocks;
    change(model, [&](const pipeline::Network&, Encoder& encoder) { blocks = encoder.schedule(); });
    return blocks;
}

void forget(Segmenter& model, const py::object& stream) {
    if (!stream.is_none()) {
        const std::string name = streamFrom(stream);
        const py::gil_scoped_release release;
        model.forget(name);
    } else {
        change(model, [](const pipeline::Network&, Encoder& encoder) { encoder.forget(); });
    }
}

std::string describeModel(const py::object& self) {
    auto& model = self.cast<Segmenter&>();
    const cv::Size size = model.info().size;
    return "Model(" + std::string(py::repr(py::str(model.path()))) +
           cv::format(", %dx%d, blocks %s, ", size.height, size.width, blocksText(blocksOf(model)).c_str()) +
           model.precision + (model.reuse == "off" ? ")" : ", reuse " + model.reuse + ")");
}

std::string describeResult(const PyResult& result) {
    const Result& r = result.result;
    std::string text = "Result(";
    if (!r.labels.empty()) text += cv::format("labels %dx%d, ", r.labels.rows, r.labels.cols);
    if (!r.tokens.tokens.empty())
        text += cv::format("tokens %d to %d, ", r.tokens.tokens.front(), r.tokens.tokens.back());
    return text + cv::format("%.1f ms)", r.times.prepare + r.times.network + r.times.labels);
}

std::string describeTimes(const ResultTimes& t) {
    return cv::format(
        "Times(prepare %.2f, network %.2f, labels %.2f, encoder %.2f, merge %.2f, restore %.2f ms)",
        t.prepare, t.network, t.labels, t.encoder, t.merge, t.restore);
}

void bindResult(py::module_& module) {
    py::class_<ResultTimes> times(module, "Times", "Milliseconds; of the whole batch, except labels.");
    rejectUnfinished(times)
        .def("__repr__", &describeTimes)
        .def_readonly("prepare", &ResultTimes::prepare, "Image to network input.")
        .def_readonly("network", &ResultTimes::network, "Input to output, encoder included.")
        .def_readonly("labels", &ResultTimes::labels, "Output to labels, of this image.")
        .def_readonly("encoder", &ResultTimes::encoder, "The merging encoder.")
        .def_readonly("merge", &ResultTimes::merge, "All merges.")
        .def_readonly("restore", &ResultTimes::restore, "All restores.");
    py::class_<PyResult> result(module, "Result",
                                "The result for one image. It stays valid without the model.");
    rejectUnfinished(result)
        .def("__repr__", &describeResult)
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
            "grid", [](const PyResult& r) { return sizeTuple(r.result.grid); },
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
    py::class_<Segmenter> model(
        module, "Model",
        "A converted model. Several threads may call one model; it runs one call at a time.");
    rejectUnfinished(model)
        .def(py::init([](const py::object& file, const py::object& size) {
                 const std::string path = pathFrom(file, "model");
                 const cv::Size wanted = sizeFrom(size);
                 const py::gil_scoped_release release;
                 return std::make_unique<Segmenter>(path, wanted);
             }),
             py::arg("model") = "default", py::arg("size") = py::none(),
             "model: an ONNX file of mpm.convert(), or 'default'. size: (rows, columns), where the file "
             "leaves "
             "them open.")
        .def("__call__", &call, py::arg("image"), py::arg("stream") = py::none(),
             "Runs the model on one image (uint8 BGR) or a list of them. stream: the camera that the image "
             "is from, "
             "text or a number, for reuse over time; for a list of images a list.")
        .def("__repr__", &describeModel)
        .def_property(
            "blocks", [](Segmenter& m) { return py::tuple(py::cast(blocksOf(m))); }, &setBlocks,
            "The blocks before which tokens merge, counted from 0; () runs all tokens. '2,5' and 'none' are "
            "understood too.")
        .def_property(
            "precision", [](const Segmenter& m) { return m.precision; }, &setPrecision,
            (precisionNames() + ".").c_str())
        .def_property(
            "device", [](const Segmenter& m) { return m.device; }, &setDevice, "cpu, cuda, cuda:N or auto.")
        .def_property("reuse", &getReuse, &setReuse,
                      "Reuse over time: True, False, or values such as 'refresh=30,full=0.25'.")
        .def("forget", &forget, py::arg("stream") = py::none(),
             "With reuse, the next call computes all tokens: of all streams, or of this one.")
        .def_property_readonly(
            "size", [](const Segmenter& m) { return sizeTuple(m.info().size); },
            "Of the network's input, (rows, columns).")
        .def_property_readonly(
            "classes", [](const Segmenter& m) { return m.info().labels; }, "Class names by id.")
        .def_property_readonly("path", &Segmenter::path, "The model file.");
}

}  // namespace mpm::python
