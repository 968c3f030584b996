#include "pipeline/measure/evaluation.hpp"

#include <algorithm>
#include <filesystem>

#include <opencv2/imgproc.hpp>

#include "base/random.hpp"
#include "pipeline/measure/counts_file.hpp"
#include "pipeline/measure/reuse_counts.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/segment/model_file.hpp"
#include "pipeline/segment/names.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::pipeline {

namespace {

using Kind = MeasureError::Kind;

/// Half the width of the band along boundaries, in pixels of the labels.
constexpr int kBandRadius = 3;

LabelledSet openSet(const EvalRequest& request, size_t classes) {
    try {
        return {layoutFrom(request.dataset), request.root, request.split, static_cast<int>(classes)};
    } catch (const cv::Exception& error) {
        throw MeasureError(Kind::Input,
                           request.root + ": " + error.err + "; name the root folder of the data set");
    } catch (const std::filesystem::filesystem_error& error) {
        throw MeasureError(Kind::Input, error.path1().string() + ": cannot be read (" +
                                            error.code().message() + "); change its permissions");
    }
}

Protocol protocolFor(const std::string& dataset, cv::Size window) {
    const LayoutProtocol layout = protocolOf(layoutFrom(dataset));
    Protocol protocol;
    protocol.shortSide = layout.shortSide < 0 ? std::min(window.width, window.height) : layout.shortSide;
    if (layout.stride > 0) protocol.stride = {layout.stride, layout.stride};
    return protocol;
}

std::vector<DistanceCounts> joinsOf(const mpm::ImageReport& report, cv::Size input, bool mapGiven) {
    std::vector<cv::Mat> maps;
    for (const mpm::Stage& stage : report.stages)
        maps.push_back(stage.map);
    if (maps.empty()) return {};
    std::vector<DistanceCounts> joins =
        joinDistances(maps, tokenGrid(static_cast<int>(report.map.total()), input));
    if (mapGiven) joins.erase(joins.begin());  // the first map is an input of the model
    return joins;
}

std::optional<std::vector<double>> nightOf(const Setting& setting) {
    if (!setting.night) return std::nullopt;
    return std::vector<double>{setting.night->luminance, setting.night->photons, setting.night->deviation};
}

SettingHead headOf(const Setting& setting) {
    return {setting.method.shortName(), setting.method.text, precisionName(setting.precision), setting.batch,
            nightOf(setting)};
}

/// If the request names no method and the model shares tokens, uses "cts" (token sharing).
EvalRequest withMethods(EvalRequest request, const Network& network) {
    if (request.methods.empty() && network.shares()) request.methods = methodsFrom("cts");
    return request;
}

/// Returns the labels inside a window of the scaled image. If a part of the window is outside the image, the
/// labels of this part are `ignored`.
cv::Mat labelsIn(const WindowPlace& window, const cv::Mat& labels, int ignored) {
    cv::Mat scaled, found(window.place.size(), labels.type(), cv::Scalar(ignored));
    cv::resize(labels, scaled, window.scaled, 0, 0, cv::INTER_NEAREST);
    const cv::Rect seen = window.place & cv::Rect({0, 0}, window.scaled);
    scaled(seen).copyTo(found(cv::Rect({0, 0}, seen.size())));
    return found;
}

}  // namespace

Network& EvalNetworks::of(const Setting& setting) {
    Key key{setting.precision, setting.batch, {}};
    if (setting.method.reuses()) {
        std::string& own = std::get<2>(key) = setting.method.text;
        for (const double value : nightOf(setting).value_or(std::vector<double>()))
            own += "/" + std::to_string(value);
    }
    const auto found = m_networks.find(key);
    if (found != m_networks.end()) return found->second;
    return m_networks.emplace(key, m_open(setting.precision)).first->second;
}

EvalNetworks::EvalNetworks(Open open, const EvalRequest& request) : m_open(std::move(open)) {
    of({{}, request.precisions.front(), request.batches.front(), std::nullopt});
}

Evaluation::Evaluation(const EvalRequest& request, EvalNetworks& networks, const ModelCost& cost,
                       const std::string& modelSha256)
    : m_request(withMethods(request, networks.any())),
      m_networks(networks),
      m_set(openSet(request, anyNetwork().info().labels.size())),
      m_flops(cost),
      m_own(ownMergingOf(anyNetwork())),
      m_settings(settingsOf(m_request, anyNetwork().encoder().blocks())) {
    checkClasses();
    checkReuse();
    Protocol protocol = protocolFor(request.dataset, anyNetwork().info().size);
    for (Setting& setting : m_settings) {
        setting.method = setting.method.in(m_own);
        protocol.frames = setting.method.reuses();
        applyMethod(network(setting), setting.method, m_own);  // rejects invalid methods before the run
        m_segmenters.emplace_back(network(setting), protocol, setting.batch);
    }
    m_head = head(modelSha256);
}

void Evaluation::checkClasses() const {
    const Network& network = anyNetwork();
    const int known = static_cast<int>(network.info().labels.size());
    if (known > 0 && known != m_set.classes() && !network.random())
        throw MeasureError(Kind::Input, network.name() + ": has " + std::to_string(known) +
                                            " classes, the data set has " + std::to_string(m_set.classes()) +
                                            "; name the data set that the model was trained on");
}

void Evaluation::checkReuse() const {
    for (const Setting& setting : m_settings) {
        if (!setting.method.reuses()) continue;
        const std::string takes =
            "method \"" + setting.method.text + "\" takes the frames of a clip one by one";
        if (*std::max_element(m_request.batches.begin(), m_request.batches.end()) > 1)
            throw MeasureError(Kind::Settings, takes + "; use batch 1");
        if (m_request.shard && m_request.shard->count > 1)
            throw MeasureError(Kind::Settings, takes + "; a shard has only some of them, leave out --shard");
    }
}

/// Runs a forward before images are read, to allocate memory and to reject an impossible batch size early.
void Evaluation::warmUp(const Setting& setting) {
    Network& net = network(setting);
    applyMethod(net, setting.method, m_own);
    const cv::Mat grey(net.info().size, CV_8UC3, cv::Scalar::all(128));
    net.forward(net.blob(std::vector<cv::Mat>(setting.batch, grey)));
    net.encoder().forget();  // makes reuse compute the first frame in full
}

EvalHead Evaluation::head(const std::string& modelSha256) const {
    const Network& network = anyNetwork();
    EvalHead head;
    head.run = pipeline::headOf(network);
    head.modelSha256 = modelSha256;
    head.blocks = network.encoder().blocks();
    head.width = m_flops.cost().width;
    head.heads = m_flops.cost().heads;
    head.dataset = m_request.dataset;
    head.split = m_request.split;
    head.images = m_request.limit > 0 ? std::min<size_t>(m_request.limit, m_set.size()) : m_set.size();
    std::string names;
    for (size_t i = 0; i < head.images; ++i)
        names += m_set.name(i) + '\n';
    head.imagesHash = seedOf(names);
    head.group = size_t(*std::max_element(m_request.batches.begin(), m_request.batches.end()));
    head.groups = (head.images + head.group - 1) / head.group;
    head.shard = m_request.shard.value_or(Shard());
    head.classes = m_set.classNames();
    head.classCount = m_set.classes();
    head.ignored = m_set.ignored();
    head.bandRadius = kBandRadius;
    head.schedule = m_own.blocks;
    for (const Setting& setting : m_settings)
        head.settings.push_back(headOf(setting));
    return head;
}

std::vector<Sample> Evaluation::read(Group& group, const Watcher& watcher) const {
    std::vector<Sample> samples;
    const size_t from = group.index * m_head.group, to = std::min(from + m_head.group, m_head.images);
    for (size_t i = from; i < to; ++i) {
        try {
            samples.push_back(m_set.at(i));
            group.names.push_back(samples.back().name);
        } catch (const cv::Exception& error) {
            if (error.code == cv::Error::StsNoMem) throw;  // ends the run: the image is not damaged
            watcher.warn(error.err + "; left out");
            group.leftOut.push_back(m_set.name(i));
        }
    }
    return samples;
}

ImageCounts Evaluation::countsOf(const Setting& setting, const Sample& sample,
                                 const ProtocolResult& result) const {
    ImageCounts counts;
    SplitConfusion classes(m_set.classes(), m_set.ignored());
    classes.add(sample.labels, result.labels, kBandRadius);
    counts.classes = SplitCells(classes);
    counts.objects.add(sample.labels, result.labels, m_set.ignored());
    for (const mpm::ImageReport& window : result.windows) {
        counts.windows.push_back(window.tokens);
        counts.kept += tokensKept(window);
        counts.operations += m_flops.image(window, setting.method.reducer(m_own));
        counts.reuse.add(window.reuse);
        addCounts(counts.joins, joinsOf(window, anyNetwork().info().size, anyNetwork().shares()));
    }
    return counts;
}

ProtocolSegmenter::Prepare Evaluation::givenScores(const Setting& setting,
                                                   const std::vector<Sample>& samples) {
    using Policy = ShareMethod::Policy;
    if (!setting.method.shares()) return {};
    const Policy policy = shareMethodOf(setting.method).policy;
    if (policy == Policy::Learned) return {};
    return [this, &setting, &samples, policy](const std::vector<WindowPlace>& windows) {
        mpm::Sharing& sharing = *network(setting).sharing();
        std::vector<cv::Mat> scores;
        for (const WindowPlace& window : windows) {
            const Sample& sample = samples[window.image];
            const std::uint64_t seed =
                mixSeed(seedOf(sample.name), static_cast<std::uint64_t>(window.number));
            scores.push_back(
                policy == Policy::Random
                    ? randomScores(sharing.grid(), seed)
                    : oracleScores(labelsIn(window, sample.labels, m_set.ignored()), sharing.grid(), seed));
        }
        sharing.setScores(scores);
    };
}

GroupRow Evaluation::measure(size_t index, const std::vector<Sample>& samples, std::vector<cv::Mat>& labels) {
    const Setting& setting = m_settings[index];
    applyMethod(network(setting), setting.method, m_own);
    std::vector<cv::Mat> images;
    for (const Sample& sample : samples)
        images.push_back(setting.night ? street::night(sample.image, *setting.night, seedOf(sample.name))
                                       : sample.image);
    const std::vector<ProtocolResult> results =
        m_segmenters[index].segment(images, givenScores(setting, samples));
    const mpm::Report report = network(setting).encoder().report();
    GroupRow row;
    row.device = deviceName(report.device);
    row.precision = precisionName(report.precision);
    row.schedule = scheduleOf(report.images.front(), anyNetwork().shares());
    row.times = m_segmenters[index].takeTimes();
    for (size_t i = 0; i < samples.size(); ++i) {
        row.images.push_back(countsOf(setting, samples[i], results[i]));
        labels.push_back(results[i].labels);
    }
    return row;
}

Group Evaluation::measure(size_t index, const Watcher& watcher, const LabelsSink& labels) {
    Group group;
    group.index = index;
    const std::vector<Sample> samples = read(group, watcher);
    std::vector<std::vector<cv::Mat>> found(m_settings.size());
    try {
        for (size_t setting = 0; setting < m_settings.size() && !samples.empty(); ++setting) {
            group.rows.push_back(measure(setting, samples, found[setting]));
            for (size_t i = 0; labels.write && i < samples.size(); ++i)
                labels.write(m_settings[setting], samples[i].name, found[setting][i]);
        }
        if (!samples.empty()) compareWithAllTokens(group, found);
    } catch (const ModelError& error) {
        throw MeasureError(Kind::Input, anyNetwork().name() + ": " + error.what());
    }
    return group;
}

void Evaluation::compareWithAllTokens(Group& group, const std::vector<std::vector<cv::Mat>>& labels) const {
    const auto sameButMethod = [](const SettingHead& a, const SettingHead& b) {
        return a.precision == b.precision && a.batch == b.batch && a.night == b.night;
    };
    for (size_t base = 0; base < m_head.settings.size(); ++base) {
        if (m_head.settings[base].method != "none") continue;
        for (size_t other = 0; other < m_head.settings.size(); ++other) {
            if (other == base || !sameButMethod(m_head.settings[base], m_head.settings[other])) continue;
            for (size_t i = 0; i < labels[other].size(); ++i)
                group.rows[other].images[i].agreement = shareOfEqual(labels[base][i], labels[other][i]);
        }
    }
}

std::vector<size_t> Evaluation::missingGroups(const std::vector<Group>& done) const {
    std::vector<char> there(m_head.groups, 0);
    for (const Group& group : done)
        there.at(group.index) = 1;
    std::vector<size_t> missing;
    for (size_t index = 0; index < m_head.groups; ++index)
        if (!there[index] && index % m_head.shard.count == size_t(m_head.shard.index - 1))
            missing.push_back(index);
    return missing;
}

EvalCounts Evaluation::run(const Watcher& watcher, const LabelsSink& labels) {
    EvalCounts counts;
    std::optional<CountsFile> file;
    if (!m_request.countsFile.empty()) file.emplace(m_request.countsFile, toJson(m_head), groupsInto(counts));
    counts.head = m_head;
    for (const Group& group : counts.groups)
        for (const std::string& name : group.names)
            for (const Setting& setting : m_settings)
                if (labels.write && !labels.has(setting, name))
                    throw MeasureError(Kind::Input,
                                       m_request.countsFile + ": has images whose labels were not kept (" +
                                           name + "); save labels with another file of --counts, or without");
    const std::vector<size_t> missing = missingGroups(counts.groups);
    for (size_t i = 0; i < m_settings.size() && !missing.empty(); ++i)
        warmUp(m_settings[i]);
    const auto total = static_cast<std::int64_t>(missing.size() * m_head.group);
    std::int64_t done = 0;
    for (const size_t index : missing) {
        if (watcher.stopped())
            throw MeasureError(Kind::Failed,
                               "stopped after " + std::to_string(counts.groups.size() * m_head.group) +
                                   " of " + std::to_string(m_head.images) + " images; " +
                                   (file ? "the same command continues"
                                         : "with --counts FILE the same command would continue"));
        counts.groups.push_back(measure(index, watcher, labels));
        if (file) file->add(toJson(counts.groups.back()));
        watcher.report(done += static_cast<std::int64_t>(m_head.group), total);
    }
    if (file) file->finish();
    std::sort(counts.groups.begin(), counts.groups.end(),
              [](const Group& a, const Group& b) { return a.index < b.index; });
    return counts;
}

}  // namespace mpm::pipeline
