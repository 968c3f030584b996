// mpm.bench, mpm.evaluate and mpm.join: the work of the verbs, results as text in JSON.
#include <pybind11/stl.h>

#include "models/onnx/inspect.hpp"
#include "models/onnx/io/digest.hpp"
#include "pipeline/measure/counts_file.hpp"
#include "pipeline/measure/error.hpp"
#include "pipeline/measure/evaluation.hpp"
#include "pipeline/report/bench_json.hpp"
#include "pipeline/report/eval_json.hpp"
#include "pipeline/segment/cost_from.hpp"
#include "pipeline/segment/names.hpp"
#include "pipeline/source/source.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"

namespace mpm::python {

namespace {

using pipeline::Network;

Precision precisionOf(const std::string& name) {
    if (const auto precision = pipeline::precisionFrom(name)) return *precision;
    throw py::value_error("precision: '" + name + "' is not known");
}

/// Sizes that the operations follow from, read from the model's file.
pipeline::ModelCost costOf(const Network& network) {
    return pipeline::costFrom(models::inspectModel(network.name()).found, network.info().size);
}

Network open(const std::string& model, Precision precision) {
    Network network(model);
    network.encoder().setPrecision(precision);
    return network;
}

std::string jsonText(const pipeline::Json& json) {
    return json.dump(-1, ' ', false, pipeline::Json::error_handler_t::replace);
}

/// Images of the built-in street, at all hours.
std::vector<cv::Mat> streetImages() {
    pipeline::SourceOptions how;
    how.scene.framesPerDay = 16;
    how.scene.frames = 16;
    how.scene.startHour = 0;
    std::vector<cv::Mat> images;
    const auto source = pipeline::makeSource(pipeline::Address("demo"), how);
    source->open();
    for (pipeline::Frame frame; source->next(frame);)
        images.push_back(frame.image);
    return images;
}

/// Reports to Python, and stops when Python has received a signal (Ctrl-C).
pipeline::Watcher watcherFor(const py::object& progress, bool& interrupted) {
    pipeline::Watcher watcher;
    watcher.stopRequested = [&interrupted] {
        const py::gil_scoped_acquire acquire;
        interrupted = interrupted || PyErr_CheckSignals() != 0;
        return interrupted;
    };
    if (!progress.is_none())
        watcher.progress = [&progress](std::int64_t done, std::int64_t total) {
            const py::gil_scoped_acquire acquire;
            progress(done, total);
        };
    return watcher;
}

/// Runs `body` without the interpreter's lock. Ctrl-C becomes KeyboardInterrupt.
template <class Body>
std::string measured(const py::object& progress, const Body& body) {
    bool interrupted = false;
    const pipeline::Watcher watcher = watcherFor(progress, interrupted);
    try {
        const py::gil_scoped_release release;
        return body(watcher);
    } catch (const pipeline::MeasureError&) {
        if (interrupted) throw py::error_already_set();
        throw;
    }
}

void checkPositive(const std::string& name, int value, int least) {
    if (value < least) throw py::value_error(name + ": expected at least " + std::to_string(least));
}

std::string bench(const std::string& model, const py::object& images, const std::string& compare,
                  const std::vector<int>& batches, int rounds, int warmUp, const std::string& precision,
                  const py::object& progress) {
    checkPositive("rounds", rounds, 1);
    checkPositive("warm_up", warmUp, 0);
    if (batches.empty()) throw py::value_error("batch: expected at least one size");
    for (const int batch : batches)
        checkPositive("batch", batch, 1);
    const Precision chosen = precisionOf(precision);
    std::vector<HeldMat> held;
    if (!images.is_none())
        for (const py::handle& image : py::tuple(images))
            held.push_back(imageFrom(image, "images[" + std::to_string(held.size()) + "]"));
    std::vector<cv::Mat> views;
    for (const HeldMat& image : held)
        views.push_back(image.mat);
    if (!images.is_none() && views.empty()) throw py::value_error("images: expected at least one");
    return measured(progress, [&](const pipeline::Watcher& watcher) {
        const std::vector<pipeline::Method> methods = pipeline::methodsFrom(compare);
        pipeline::checkMethods(methods);
        pipeline::BenchNetworks networks([&] { return open(model, chosen); });
        const pipeline::ModelCost cost = costOf(networks.of({}, batches.front()));
        pipeline::BenchRounds measuring(std::move(networks), batches, cost, methods);
        measuring.run(views.empty() ? streetImages() : views, warmUp, rounds, watcher);
        return jsonText(pipeline::benchJson(pipeline::headOf(measuring.network()), measuring.rows()));
    });
}

std::string evaluate(const std::string& model, const pipeline::EvalRequest& request,
                     const pipeline::Watcher& watcher) {
    pipeline::EvalNetworks networks([&](Precision precision) { return open(model, precision); }, request);
    const Network& any = networks.any();
    pipeline::Evaluation evaluation(request, networks, costOf(any), models::sha256OfFile(any.name()));
    return jsonText(pipeline::evalJson(pipeline::EvalSummary(evaluation.run(watcher))));
}

pipeline::EvalRequest requestOf(const std::string& dataset, const std::string& root, const std::string& split,
                                const std::string& compare, const std::vector<int>& batches,
                                const std::vector<std::string>& precisions, int limit,
                                const std::optional<std::pair<int, int>>& shard, const std::string& counts) {
    pipeline::EvalRequest request;
    request.dataset = dataset, request.root = root, request.split = split;
    if (!compare.empty()) request.methods = pipeline::methodsFrom(compare);
    if (batches.empty() || precisions.empty())
        throw py::value_error("batch, precision: expected at least one value each");
    for (const int batch : batches)
        checkPositive("batch", batch, 1);
    request.batches = batches;
    request.precisions.clear();
    for (const std::string& name : precisions)
        request.precisions.push_back(precisionOf(name));
    checkPositive("limit", limit, 0);
    request.limit = limit;
    if (shard) {
        checkPositive("shard", shard->first, 1);
        if (shard->second < shard->first) throw py::value_error("shard: expected (part, parts)");
        request.shard = pipeline::Shard{shard->first, shard->second};
    }
    request.countsFile = counts;
    return request;
}

}  // namespace

void bindMeasure(py::module_& module) {
    module.def("bench_json", &bench, py::arg("model"), py::arg("images"), py::arg("compare"),
               py::arg("batch"), py::arg("rounds"), py::arg("warm_up"), py::arg("precision"),
               py::arg("progress"), "mpm.bench() as JSON text.");
    module.def(
        "evaluate_json",
        [](const std::string& model, const std::string& dataset, const std::string& root,
           const std::string& split, const std::string& compare, const std::vector<int>& batches,
           const std::vector<std::string>& precisions, int limit,
           const std::optional<std::pair<int, int>>& shard, const std::string& counts,
           const py::object& progress) {
            const pipeline::EvalRequest request =
                requestOf(dataset, root, split, compare, batches, precisions, limit, shard, counts);
            return measured(progress, [&](const pipeline::Watcher& watcher) {
                pipeline::checkMethods(request.methods);
                return evaluate(model, request, watcher);
            });
        },
        py::arg("model"), py::arg("dataset"), py::arg("root"), py::arg("split"), py::arg("compare"),
        py::arg("batch"), py::arg("precision"), py::arg("limit"), py::arg("shard"), py::arg("counts"),
        py::arg("progress"), "mpm.evaluate() as JSON text.");
    module.def(
        "join_json",
        [](const std::vector<std::string>& counts) {
            return jsonText(pipeline::evalJson(pipeline::EvalSummary(pipeline::joinCounts(counts))));
        },
        py::arg("counts"), py::call_guard<py::gil_scoped_release>(), "mpm.join() as JSON text.");
}

}  // namespace mpm::python
