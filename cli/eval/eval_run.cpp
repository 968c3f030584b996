#include "cli/eval/eval_run.hpp"

#include <algorithm>
#include <filesystem>

#include "base/random.hpp"
#include "cli/common/cost.hpp"
#include "cli/common/error.hpp"
#include "cli/common/terminal.hpp"
#include "cli/run/frame_files.hpp"
#include "models/onnx/io/digest.hpp"
#include "pipeline/segment/model_file.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace fs = std::filesystem;

namespace mpm::cli {

namespace {

std::unique_ptr<pipeline::LabelledSet> openSet(const EvalOptions& options, size_t classes) {
    try {
        return std::make_unique<pipeline::LabelledSet>(pipeline::layoutFrom(options.dataset), options.root,
                                                       options.split, static_cast<int>(classes));
    } catch (const cv::Exception& error) {
        throw Error(kBadInput,
                    "--root " + options.root + ": " + error.err + "; name the folder the layout begins in");
    }
}

pipeline::Protocol protocolFor(const std::string& dataset, cv::Size window) {
    const pipeline::LayoutProtocol layout = pipeline::protocolOf(pipeline::layoutFrom(dataset));
    pipeline::Protocol protocol;
    protocol.shortSide = layout.shortSide < 0 ? std::min(window.width, window.height) : layout.shortSide;
    if (layout.stride > 0) protocol.stride = {layout.stride, layout.stride};
    return protocol;
}

std::vector<pipeline::DistanceCounts> joinsOf(const mpm::ImageReport& report, cv::Size input) {
    std::vector<cv::Mat> maps;
    for (const mpm::Stage& stage : report.stages)
        maps.push_back(stage.map);
    if (maps.empty()) return {};
    return pipeline::joinDistances(maps, pipeline::tokenGrid(static_cast<int>(report.map.total()), input));
}

}  // namespace

EvalRun::EvalRun(const EvalOptions& options) : m_options(options) {
    if (m_options.shard) m_shard = *m_options.shard;
    openNetworks();
    m_set = openSet(options, anyNetwork().info().labels.size());
    checkClasses();
    m_flops = std::make_unique<pipeline::FlopsCounter>(modelCost(anyNetwork()));
    m_pictures = options.limit > 0 ? std::min<size_t>(options.limit, m_set->size()) : m_set->size();
    m_step = static_cast<size_t>(*std::max_element(options.batches.begin(), options.batches.end()));
    m_settings = settingsOf(options, anyNetwork().encoder().blocks());
    const pipeline::Protocol protocol = protocolFor(options.dataset, anyNetwork().info().size);
    for (const Setting& setting : m_settings) {
        applyMethod(network(setting).encoder(), setting.method, m_schedule);  // refused before anything runs
        m_segmenters.emplace_back(network(setting), protocol, setting.batch);
        if (!options.saveLabels.empty()) makeFolder(labelsFolder(setting));
    }
}

void EvalRun::openNetworks() {
    for (const Precision precision : m_options.precisions)
        for (const int batch : m_options.batches) {
            CommonOptions common = m_options.common;
            common.precision = precision;
            m_networks.try_emplace({precision, batch}, openNetwork(m_options.model, common, m_options.size));
        }
    m_schedule = anyNetwork().encoder().schedule();
}

void EvalRun::checkClasses() {
    const pipeline::Network& network = anyNetwork();
    const int known = static_cast<int>(network.info().labels.size());
    if (known > 0 && known != m_set->classes() && !network.random())
        throw Error(kBadInput, network.name() + ": knows " + std::to_string(known) +
                                   " classes, the data set has " + std::to_string(m_set->classes()) +
                                   "; name the data set the model was trained for");
}

/// The first forward of a network allocates; and a batch it does not take is told before anything is read.
void EvalRun::warmUp(const Setting& setting) {
    pipeline::Network& net = network(setting);
    applyMethod(net.encoder(), setting.method, m_schedule);
    try {
        const cv::Mat grey(net.info().size, CV_8UC3, cv::Scalar::all(128));
        net.forward(net.blob(std::vector<cv::Mat>(setting.batch, grey)));
    } catch (const cv::Exception& error) {
        if (setting.batch == 1) throw;
        throw Error(kFailed, net.name() + ": cannot run with batch " + std::to_string(setting.batch) + " (" +
                                 error.err + "); if its batch is fixed, convert it with --batch");
    }
}

Json EvalRun::head() const {
    const pipeline::Network& network = m_networks.begin()->second;
    Json head = {{"mpm_counts", 1}};
    head.update(reportHead(network));
    const pipeline::ModelCost& cost = m_flops->cost();
    head["model_sha256"] = network.random() ? "random" : models::sha256OfFile(network.name());
    head["encoder"] = {{"blocks", network.encoder().blocks()}, {"width", cost.width}, {"heads", cost.heads}};
    head["dataset"] = m_options.dataset;
    head["split"] = m_options.split;
    std::string names;
    for (size_t i = 0; i < m_pictures; ++i)
        names += m_set->name(i) + '\n';
    head["pictures"] = m_pictures;
    head["pictures_hash"] = seedOf(names);
    head["group"] = m_step;
    head["groups"] = groups();
    head["shard"] = {m_shard.index, m_shard.count};
    head["classes"] = m_set->classNames();
    head["class_count"] = m_set->classes();
    head["ignored"] = m_set->ignored();
    head["band_radius"] = kBandRadius;
    for (const Setting& setting : m_settings)
        head["settings"].push_back(toJson(setting));
    return head;
}

std::string EvalRun::labelsFolder(const Setting& setting) const {
    if (m_settings.size() < 2) return m_options.saveLabels;
    std::string name = setting.method.text;
    if (m_options.precisions.size() > 1) name += "-" + precisionName(setting.precision);
    if (m_options.batches.size() > 1) name += "-batch" + std::to_string(setting.batch);
    if (setting.night && (m_options.paired || m_options.nights.size() > 1))
        name += cv::format("-night%g,%g,%g", setting.night->luminance, setting.night->photons,
                           setting.night->deviation);
    std::replace(name.begin(), name.end(), '/', '_');
    return (fs::path(m_options.saveLabels) / name).string();
}

std::vector<pipeline::Sample> EvalRun::read(Group& group) const {
    std::vector<pipeline::Sample> samples;
    const size_t from = group.index * m_step, to = std::min(from + m_step, m_pictures);
    for (size_t i = from; i < to; ++i) {
        try {
            samples.push_back(m_set->at(i));
            group.names.push_back(samples.back().name);
        } catch (const cv::Exception& error) {
            if (error.code == cv::Error::StsNoMem) throw;  // says nothing of the image
            warn(error.err + "; left out");
            group.leftOut.push_back(m_set->name(i));
        }
    }
    return samples;
}

PictureCounts EvalRun::countsOf(const Setting& setting, const pipeline::Sample& sample,
                                const pipeline::ProtocolResult& result) const {
    PictureCounts counts{pipeline::SplitConfusion(m_set->classes(), m_set->ignored()), {}, {}, 0, 0, {}};
    counts.classes.add(sample.labels, result.labels, kBandRadius);
    counts.objects.add(sample.labels, result.labels, m_set->ignored());
    for (const mpm::ImageReport& window : result.windows) {
        counts.windows.push_back(window.tokens);
        counts.kept +=
            window.stages.empty() ? static_cast<int>(window.map.total()) : window.stages.back().tokens;
        counts.operations += m_flops->image(window, setting.method.name);
        pipeline::addCounts(counts.joins, joinsOf(window, m_networks.begin()->second.info().size));
    }
    return counts;
}

GroupRow EvalRun::measure(size_t index, const std::vector<pipeline::Sample>& samples) {
    const Setting& setting = m_settings[index];
    applyMethod(network(setting).encoder(), setting.method, m_schedule);
    std::vector<cv::Mat> pictures;
    for (const pipeline::Sample& sample : samples)
        pictures.push_back(setting.night ? street::night(sample.picture, *setting.night, seedOf(sample.name))
                                         : sample.picture);
    const std::vector<pipeline::ProtocolResult> results = m_segmenters[index].segment(pictures);
    const mpm::Report report = network(setting).encoder().report();
    GroupRow row;
    row.device = deviceName(report.device);
    row.precision = precisionName(report.precision);
    for (const mpm::Stage& stage : report.images.front().stages)
        row.schedule.push_back(stage.block);
    row.times = m_segmenters[index].takeTimes();
    for (size_t i = 0; i < samples.size(); ++i) {
        row.pictures.push_back(countsOf(setting, samples[i], results[i]));
        if (m_options.saveLabels.empty()) continue;
        writeWhole((fs::path(labelsFolder(setting)) / (samples[i].name + ".png")).string(),
                   results[i].labels);
    }
    return row;
}

Group EvalRun::measure(size_t index) {
    Group group;
    group.index = index;
    const std::vector<pipeline::Sample> samples = read(group);
    try {
        for (size_t setting = 0; setting < m_settings.size() && !samples.empty(); ++setting)
            group.rows.push_back(measure(setting, samples));
    } catch (const pipeline::ModelError& error) {
        throw Error(kBadInput, anyNetwork().name() + ": " + error.what());
    }
    return group;
}

Counts EvalRun::run() {
    catchStopSignals();
    Counts counts;
    counts.head = head();
    std::unique_ptr<CountsFile> file;
    if (!m_options.counts.empty()) {
        file = std::make_unique<CountsFile>(m_options.counts, counts.head);
        counts.groups = file->groups();
    }
    std::vector<char> done(groups(), 0);
    for (const Group& group : counts.groups)
        done.at(group.index) = 1;
    std::vector<size_t> wanted;
    for (size_t index = 0; index < groups(); ++index)
        if (!done[index] && index % m_shard.count == size_t(m_shard.index - 1)) wanted.push_back(index);
    for (size_t i = 0; i < m_settings.size() && !wanted.empty(); ++i)
        warmUp(m_settings[i]);
    Progress progress("picture", static_cast<std::int64_t>(wanted.size() * m_step));
    for (const size_t index : wanted) {
        if (stopAsked())
            throw Error(kFailed, "stopped after " + std::to_string(counts.groups.size() * m_step) + " of " +
                                     std::to_string(m_pictures) + " pictures; " +
                                     (file ? "the same command goes on"
                                           : "with --counts FILE the same command would go on"));
        counts.groups.push_back(measure(index));
        if (file) file->add(counts.groups.back());
        progress.add(static_cast<std::int64_t>(m_step));
    }
    if (file) file->finish();
    std::sort(counts.groups.begin(), counts.groups.end(),
              [](const Group& a, const Group& b) { return a.index < b.index; });
    return counts;
}

}  // namespace mpm::cli
