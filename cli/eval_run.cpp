#include "cli/eval_run.hpp"

#include <filesystem>

#include "cli/error.hpp"
#include "cli/frame_files.hpp"
#include "cli/terminal.hpp"
#include "pipeline/scene/random.hpp"
#include "pipeline/segment/model_file.hpp"

namespace mpm::cli {

namespace {

pipeline::LabelledSet openSet(const EvalOptions& options, const pipeline::Network& network) {
    pipeline::Layout layout;
    try {
        layout = pipeline::layoutFrom(options.dataset);
    } catch (const cv::Exception& error) {
        throw Error(kWrongUse, "--dataset: " + error.err);
    }
    try {
        return {layout, options.root, options.split, static_cast<int>(network.info().labels.size())};
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

}  // namespace

EvalRun::EvalRun(const EvalOptions& options)
    : m_options(options),
      m_network(openNetwork(options.model, options.common, options.size)),
      m_set(openSet(options, m_network)),
      m_flops(m_network),
      m_schedule(m_network.encoder().schedule()) {
    const int known = static_cast<int>(m_network.info().labels.size());
    if (known > 0 && known != m_set.classes() && !m_network.random())
        throw Error(kBadInput, m_network.name() + ": knows " + std::to_string(known) +
                                   " classes, the data set has " + std::to_string(m_set.classes()) +
                                   "; name the data set the model was trained for");
    std::vector<Method> methods = options.methods;
    if (methods.empty()) methods = parseMethods("--compare", "mpm");
    const pipeline::Protocol protocol = protocolFor(options.dataset, m_network.info().size);
    for (const Method& method : methods) {
        applyMethod(m_network.encoder(), method,
                    m_schedule);  // what is refused is refused before anything runs
        m_rows.push_back(
            {method, pipeline::Confusion(m_set.classes(), m_set.ignored()), {}, {}, options.batch});
        m_segmenters.emplace_back(m_network, protocol, options.batch);
        if (!options.saveLabels.empty()) makeFolder(labelsFolder(m_rows.back()));
    }
}

std::string EvalRun::labelsFolder(const EvalRow& row) const {
    if (m_options.methods.size() < 2) return m_options.saveLabels;
    std::string name = row.method.text;
    std::replace(name.begin(), name.end(), '/', '_');
    return (std::filesystem::path(m_options.saveLabels) / name).string();
}

std::vector<pipeline::Sample> EvalRun::read(size_t from, size_t to) {
    std::vector<pipeline::Sample> samples;
    for (size_t i = from; i < to; ++i) {
        try {
            samples.push_back(m_set.at(i));
        } catch (const cv::Exception& error) {
            warn(error.err + "; left out");
            m_leftOut.push_back(m_set.name(i));
            continue;
        }
        if (!m_options.night) continue;
        cv::Mat& picture = samples.back().picture;
        picture = pipeline::night(picture, *m_options.night, pipeline::seedOf(samples.back().name));
    }
    return samples;
}

void EvalRun::evaluate(size_t index, const std::vector<pipeline::Sample>& samples) {
    EvalRow& row = m_rows[index];
    applyMethod(m_network.encoder(), row.method, m_schedule);
    std::vector<cv::Mat> pictures;
    for (const pipeline::Sample& sample : samples)
        pictures.push_back(sample.picture);
    const std::vector<pipeline::ProtocolResult> results = m_segmenters[index].segment(pictures);
    const mpm::Report report = m_network.encoder().report();
    row.device = report.device;
    row.precision = report.precision;
    for (size_t i = 0; i < samples.size(); ++i) {
        row.confusion.add(samples[i].labels, results[i].labels);
        ++row.images;
        double operations = 0;
        for (const mpm::ImageReport& window : results[i].windows) {
            row.tokens.add(window);
            operations += m_flops.image(window, row.method.name);
        }
        row.operations.push_back(operations);
        if (m_options.saveLabels.empty()) continue;
        writeWhole((std::filesystem::path(labelsFolder(row)) / (samples[i].name + ".png")).string(),
                   results[i].labels);
    }
    const double seconds = m_segmenters[index].networkMs() / 1000;
    row.windowsPerSecond = seconds > 0 ? static_cast<double>(m_segmenters[index].images()) / seconds : 0;
}

void EvalRun::run() {
    catchStopSignals();
    const size_t all = m_options.limit > 0 ? std::min<size_t>(m_options.limit, m_set.size()) : m_set.size();
    Progress progress("picture", static_cast<std::int64_t>(all));
    const size_t step = static_cast<size_t>(m_options.batch);
    for (size_t from = 0; from < all; from += step) {
        if (stopAsked())
            throw Error(kFailed,
                        "stopped after " + std::to_string(from) + " of " + std::to_string(all) + " pictures");
        const std::vector<pipeline::Sample> samples = read(from, std::min(from + step, all));
        try {
            for (size_t row = 0; row < m_rows.size() && !samples.empty(); ++row)
                evaluate(row, samples);
        } catch (const pipeline::ModelError& error) {
            throw Error(kBadInput, m_network.name() + ": " + error.what());
        }
        progress.add(static_cast<std::int64_t>(samples.size()));
    }
    if (m_rows.front().images == 0)
        throw Error(kBadInput, "--root " + m_options.root + ": none of its pictures can be used");
}

}  // namespace mpm::cli
