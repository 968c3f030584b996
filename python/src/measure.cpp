// The functions behind mpm.bench, mpm.evaluate, mpm.tune and mpm.join.
#include "base/stopwatch.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/io/read.hpp"
#include "pipeline/measure/counts_file.hpp"
#include "pipeline/measure/evaluation.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/report/report.hpp"
#include "pipeline/segment/flops.hpp"
#include "pipeline/segment/names.hpp"
#include "pipeline/source/patient.hpp"
#include "pipeline/tune/model_trials.hpp"
#include "python/src/border.hpp"

namespace mpm::python {

namespace {

using pipeline::Network;

Precision precisionOf(const std::string& name) {
    if (const auto precision = pipeline::precisionFrom(name)) return *precision;
    throw WrongValue("precision: '" + name + "' is not known");
}

/// Reads the model's file, and returns the sizes that determine the number of operations.
pipeline::ModelCost costOf(const Network& network) {
    return pipeline::costFrom(models::inspectModel(network.name()).found, network.info().size);
}

Network open(const std::string& model, Precision precision) {
    Network network(model);
    network.encoder().setPrecision(precision);
    return network;
}

/// Returns images of the built-in street at all hours.
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

/// Runs `body` with a watcher that calls `progress`. Throws Stopped if `progress` asked to stop.
template <class Body>
void watched(mpm_progress progress, const Body& body) {
    bool stopped = false;
    pipeline::Watcher watcher;
    watcher.stopRequested = [&] { return stopped = stopped || progress(0, 0) != 0; };
    watcher.progress = [&](std::int64_t done, std::int64_t total) {
        stopped = stopped || progress(done, total) != 0;
    };
    try {
        body(watcher);
    } catch (const std::exception&) {
        if (stopped) throw Stopped();
        throw;
    }
    if (stopped) throw Stopped();
}

int atLeast(const Json& options, const char* name, int least) {
    const int value = options.at(name).get<int>();
    if (value < least) throw WrongValue(std::string(name) + ": expected at least " + std::to_string(least));
    return value;
}

std::vector<int> batchesOf(const Json& options) {
    const auto batches = options.at("batch").get<std::vector<int>>();
    if (batches.empty()) throw WrongValue("batch: expected at least one size");
    for (const int batch : batches)
        if (batch < 1) throw WrongValue("batch: expected at least 1");
    return batches;
}

pipeline::EvalRequest requestOf(const Json& options) {
    pipeline::EvalRequest request;
    request.dataset = options.at("dataset").get<std::string>();
    request.root = options.at("root").get<std::string>();
    request.split = options.at("split").get<std::string>();
    const std::string compare = options.at("compare").get<std::string>();
    if (!compare.empty()) request.methods = pipeline::methodsFrom(compare);
    request.batches = batchesOf(options);
    request.precisions.clear();
    for (const Json& name : options.at("precision"))
        request.precisions.push_back(precisionOf(name.get<std::string>()));
    if (request.precisions.empty()) throw WrongValue("precision: expected at least one");
    request.limit = atLeast(options, "limit", 0);
    if (!options.at("shard").is_null()) {
        const auto shard = options.at("shard").get<std::vector<int>>();
        if (shard.size() != 2 || shard[0] < 1 || shard[1] < shard[0])
            throw WrongValue("shard: expected (part, parts)");
        request.shard = pipeline::Shard{shard[0], shard[1]};
    }
    request.countsFile = options.at("counts").get<std::string>();
    return request;
}

/// Picks images for tuning from `given` and from a source. Reads the source for at most `seconds`.
std::vector<cv::Mat> pick(const std::vector<cv::Mat>& given, const std::string& address, double seconds,
                          const pipeline::Watcher& watcher) {
    pipeline::ImagePicker picker(pipeline::kTuneImages);
    for (const cv::Mat& image : given)
        picker.add(image);
    if (!address.empty()) {
        pipeline::SourceOptions how;
        how.scene.framesPerDay = how.scene.frames = pipeline::kTuneImages;
        how.scene.startHour = 0;
        const auto stopped = [&] { return watcher.stopRequested(); };
        pipeline::PatientSource source(pipeline::makeSource(pipeline::Address(address), how),
                                       [&](double) { return stopped(); });
        source.open();
        readSpread(source, {pipeline::kTuneImages, seconds, stopped, [](const std::string&) {}},
                   [&](const cv::Mat& image) {
                       picker.add(image);
                       return !picker.full();
                   });
    }
    return picker.images();
}

pipeline::TuneGoal goalOf(const Json& options) {
    pipeline::TuneGoal goal;
    if (!options.at("keep").is_null()) goal.keep = options.at("keep").get<double>();
    if (!options.at("faster").is_null()) goal.faster = options.at("faster").get<double>();
    if (goal.keep && goal.faster) throw WrongValue("faster: excludes keep; give one of them");
    if (goal.keep && !(*goal.keep > 0 && *goal.keep <= 1))
        throw WrongValue("keep: expected an agreement above 0 and at most 1");
    if (goal.faster && !(*goal.faster >= 1)) throw WrongValue("faster: expected a factor of at least 1");
    if (!goal.keep && !goal.faster) goal.keep = pipeline::kUsualKeep;
    return goal;
}

}  // namespace

}  // namespace mpm::python

using namespace mpm::python;
namespace pipeline = mpm::pipeline;

int mpm_bench(const char* model, const mpm_array* images, int count, const char* options,
              mpm_progress progress, char** report, char** error) {
    return guarded(error, [&] {
        const Json given = Json::parse(options);
        const int rounds = atLeast(given, "rounds", 1), warmUp = atLeast(given, "warm_up", 0);
        const std::vector<int> batches = batchesOf(given);
        const mpm::Precision chosen = precisionOf(given.at("precision").get<std::string>());
        const std::vector<cv::Mat> views = imagesOf(images, count);
        watched(progress, [&](const pipeline::Watcher& watcher) {
            const std::vector<pipeline::Method> methods =
                pipeline::methodsFrom(given.at("compare").get<std::string>());
            pipeline::checkMethods(methods);
            pipeline::BenchNetworks networks([&] { return open(model, chosen); });
            const pipeline::ModelCost cost = costOf(networks.of({}, batches.front()));
            pipeline::BenchRounds measuring(std::move(networks), batches, cost, methods);
            measuring.run(views.empty() ? streetImages() : views, warmUp, rounds, watcher);
            *report = jsonText(pipeline::benchJson(pipeline::headOf(measuring.network()), measuring.rows()));
        });
    });
}

int mpm_evaluate(const char* model, const char* options, mpm_progress progress, char** report, char** error) {
    return guarded(error, [&] {
        const pipeline::EvalRequest request = requestOf(Json::parse(options));
        watched(progress, [&](const pipeline::Watcher& watcher) {
            pipeline::checkMethods(request.methods);
            pipeline::EvalNetworks networks([&](mpm::Precision precision) { return open(model, precision); },
                                            request);
            const Network& any = networks.any();
            pipeline::Evaluation evaluation(request, networks, costOf(any),
                                            mpm::models::sha256OfFile(any.name()));
            *report = jsonText(pipeline::evalJson(pipeline::EvalSummary(evaluation.run(watcher))));
        });
    });
}

int mpm_tune(const char* model, const mpm_array* images, int count, const char* options,
             mpm_progress progress, char** report, char** error) {
    return guarded(error, [&] {
        const Json given = Json::parse(options);
        const pipeline::TuneGoal goal = goalOf(given);
        const double seconds = 60 * given.at("minutes").get<double>();
        if (!(seconds > 0)) throw WrongValue("minutes: expected a number above 0");
        const mpm::Precision precision = precisionOf(given.at("precision").get<std::string>());
        const std::vector<cv::Mat> views = imagesOf(images, count);
        watched(progress, [&](const pipeline::Watcher& watcher) {
            const mpm::Stopwatch watch;
            pipeline::Network network = open(model, precision);
            const bool write = given.at("write").get<bool>();
            if (write && !mpm::models::canStoreMerging(network.name()))
                throw std::runtime_error(network.name() +
                                         ": cannot be written; copy the model to a folder of yours");
            const std::vector<cv::Mat> picked =
                pick(views, given.at("source").get<std::string>(), seconds / 6, watcher);
            const pipeline::ModelTuning tuning =
                pipeline::tuneModel(network, picked, goal, seconds - watch.seconds(), watcher);
            if (tuning.result.stopped) return;
            if (write && tuning.result.best) {
                const pipeline::Method& best = tuning.result.rows[*tuning.result.best].method;
                mpm::models::storeMerging(network.name(), {best.name, *best.blocks});
            }
            *report = jsonText(pipeline::tuneJson(pipeline::headOf(network), tuning, goal));
        });
    });
}

int mpm_join(const char* paths, char** report, char** error) {
    return guarded(error, [&] {
        const auto counts = Json::parse(paths).get<std::vector<std::string>>();
        *report = jsonText(pipeline::evalJson(pipeline::EvalSummary(pipeline::joinCounts(counts))));
    });
}
