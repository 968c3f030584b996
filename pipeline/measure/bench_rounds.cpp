#include "pipeline/measure/bench_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "base/stopwatch.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::pipeline {

namespace {

/// Returns the largest number of tokens that an image has after each stage.
std::vector<int> longestOf(const mpm::Report& report) {
    std::vector<int> longest(report.images.front().stages.size(), 0);
    for (const mpm::ImageReport& image : report.images)
        for (size_t stage = 0; stage < image.stages.size(); ++stage)
            longest[stage] = std::max(longest[stage], image.stages[stage].tokens);
    return longest;
}

bool ragged(const mpm::Report& report) {
    return std::any_of(report.images.begin(), report.images.end(), [&](const mpm::ImageReport& image) {
        return image.tokens != report.images.front().tokens;
    });
}

/// Returns a map of tokens to clusters of consecutive tokens. The sizes of clusters are as equal as possible.
cv::Mat evenMap(int tokens, int clusters) {
    cv::Mat map(1, tokens, CV_32S);
    for (int i = 0; i < tokens; ++i)
        map.at<int>(i) = static_cast<int>(static_cast<std::int64_t>(i) * clusters / tokens);
    return map;
}

}  // namespace

std::vector<double> BenchRow::blockGflops() const {
    std::vector<double> means = blockOperations;
    for (double& value : means)
        value /= 1e9 * static_cast<double>(std::max<size_t>(operations.size(), 1));
    return means;
}

Rate BenchRow::imagesPerSecond() const {
    return rateOf(std::vector<double>(forwards.size(), 1), forwards);
}

const BenchRow* baseOf(const std::vector<BenchRow>& rows, const BenchRow& row) {
    for (const BenchRow& other : rows)
        if (other.batch == row.batch && other.method.name == "none") return &other;
    return nullptr;
}

double speedOf(const BenchRow& row, const BenchRow& base) {
    return row.method.reuses() ? base.meanMs() / row.meanMs() : base.ms(0.5) / row.ms(0.5);
}

Network& BenchNetworks::of(const Method& method, int batch) {
    const std::pair<int, std::string> key{batch, method.reuses() ? method.name : std::string()};
    const auto found = m_networks.find(key);
    return found != m_networks.end() ? found->second : m_networks.emplace(key, m_open()).first->second;
}

BenchRounds::BenchRounds(BenchNetworks networks, const std::vector<int>& batches, const ModelCost& cost,
                         const std::vector<Method>& methods)
    : m_networks(std::move(networks)), m_flops(cost) {
    const std::set<int> sizes(batches.begin(), batches.end());
    m_batches.assign(sizes.begin(), sizes.end());
    m_own = ownMergingOf(m_networks.of({"none", {}, "none"}, m_batches.front()));
    for (const int batch : m_batches)
        for (const Method& method : methods) {
            if (method.reuses() && batch > 1)
                throw MeasureError(MeasureError::Kind::Settings,
                                   "method \"" + method.text +
                                       "\" takes the frames of a clip one by one; "
                                       "use batch 1");
            if (method.shares() && shareMethodOf(method).policy == ShareMethod::Policy::Oracle)
                throw MeasureError(MeasureError::Kind::Settings,
                                   "method \"" + method.text + "\" needs labels; measure it with 'mpm eval'");
            applyMethod(m_networks.of(method, batch), method, m_own);  // throws if a method is invalid
            m_rows.push_back({});
            m_rows.back().method = method.in(m_own);
            m_rows.back().batch = batch;
        }
}

cv::Mat BenchRounds::blobOf(const std::vector<cv::Mat>& images, int batch, int round) {
    std::vector<cv::Mat> chosen;
    for (int i = 0; i < batch; ++i)
        chosen.push_back(images[(size_t(round) * batch + i) % images.size()]);
    return network().blob(chosen);
}

cv::Mat BenchRounds::measure(BenchRow& row, const cv::Mat& blob, bool keep) {
    Network& network = m_networks.of(row.method, row.batch);
    applyMethod(network, row.method, m_own);
    if (row.method.shares() && shareMethodOf(row.method).policy == ShareMethod::Policy::Random)
        network.sharing()->setScores({randomScores(network.sharing()->grid(), 1)});
    const Stopwatch watch;
    cv::Mat output = network.forward(blob);
    if (!keep) return {};
    const double ms = watch.milliseconds();
    measureParts(row, network, ms);
    const mpm::Report report = network.encoder().report();
    row.device = report.device;
    row.precision = report.precision;
    row.forwards.push_back(ms / row.batch);
    row.encoders.push_back(report.times.whole / row.batch);
    row.merges.push_back(report.times.merge / row.batch);
    row.restores.push_back(report.times.restore / row.batch);
    count(row, report);
    measurePadded(row, blob, report);
    return output;
}

void BenchRounds::measureParts(BenchRow& row, Network& network, double ms) {
    auto known = m_parts.find(&network);
    if (known == m_parts.end())
        known = m_parts.emplace(&network, LayerParts(network.net(), network.outputLayer())).first;
    const std::vector<double> times = known->second.times(network.net());
    const double inside = std::accumulate(times.begin(), times.end(), 0.0);
    if (times.empty() || inside > ms) return;  // no times, or times of another forward
    if (row.parts.empty()) {
        for (const std::string& name : known->second.names())
            row.parts.push_back({name, {}});
        row.parts.push_back({"outside the layers", {}});
    }
    for (size_t part = 0; part < times.size(); ++part)
        row.parts[part].times.push_back(times[part] / row.batch);
    row.parts.back().times.push_back((ms - inside) / row.batch);
}

void BenchRounds::count(BenchRow& row, const mpm::Report& report) {
    for (const mpm::ImageReport& image : report.images) {
        row.tokens.add(image, m_flops.cost().mapGiven);
        row.kept.push_back(tokensKept(image));
        row.reuse.add(image.reuse);
        row.operations.push_back(m_flops.image(image, row.method.reducer(m_own)));
        const std::vector<double> blocks = m_flops.blocks(image, row.method.reducer(m_own));
        row.blockOperations.resize(std::max(row.blockOperations.size(), blocks.size()), 0);
        std::transform(blocks.begin(), blocks.end(), row.blockOperations.begin(), row.blockOperations.begin(),
                       std::plus<>());
    }
}

/// Runs the batch once more as if padded: after each stage, every image has as many rows as the image with
/// the most rows. Uses evenMap(), because the time does not depend on which tokens merge. The run then does
/// not search for pairs, so this function adds the merging time of `packed`.
void BenchRounds::measurePadded(BenchRow& row, const cv::Mat& blob, const mpm::Report& packed) {
    const std::vector<int> longest = longestOf(packed);
    if (row.batch < 2 || longest.empty() || !ragged(packed)) return;
    Network& network = m_networks.of(row.method, row.batch);
    int entering = static_cast<int>(packed.images.front().map.total());
    for (size_t stage = 0; stage < longest.size(); ++stage) {
        network.encoder().setMaps(static_cast<int>(stage), {evenMap(entering, longest[stage])});
        entering = longest[stage];
    }
    const Stopwatch watch;
    network.forward(blob);
    const double ms = watch.milliseconds();
    network.encoder().clearMaps();
    row.padded.push_back((ms + packed.times.merge) / row.batch);
    double rows = 0;
    for (const mpm::ImageReport& image : packed.images)
        rows += std::accumulate(image.tokens.begin(), image.tokens.end(), 0.0);
    const std::vector<int> all = network.encoder().report().images.front().tokens;
    row.paddedShare.push_back(row.batch * std::accumulate(all.begin(), all.end(), 0.0) / rows);
}

/// Runs every method on a batch of images. If a method reuses, the images are frames of a clip, and this
/// function also compares the labels of each method with the labels of the method "none".
void BenchRounds::measureRound(const cv::Mat& blob, int batch, bool keep) {
    const bool clip =
        std::any_of(m_rows.begin(), m_rows.end(), [](const BenchRow& row) { return row.method.reuses(); });
    std::vector<cv::Mat> labels(m_rows.size());
    for (size_t i = 0; i < m_rows.size(); ++i) {
        if (m_rows[i].batch != batch) continue;
        const cv::Mat output = measure(m_rows[i], blob, keep);
        const OutputKind kind = m_networks.of(m_rows[i].method, batch).kindOf(output);
        if (clip && batch == 1 && (kind == OutputKind::Labels || kind == OutputKind::Logits))
            labels[i] = labelsOf(output, 0, {blob.size[3], blob.size[2]});
    }
    for (size_t i = 0; i < m_rows.size(); ++i) {
        const BenchRow* base = baseOf(m_rows, m_rows[i]);
        if (base == nullptr || base == &m_rows[i] || labels[i].empty()) continue;
        m_rows[i].agreement.push_back(shareOfEqual(labels[base - m_rows.data()], labels[i]));
    }
}

/// Makes all networks forget the frames so far, so that the first measured frame is computed in full.
void BenchRounds::forgetAll() {
    for (const BenchRow& row : m_rows)
        m_networks.of(row.method, row.batch).encoder().forget();
}

void BenchRounds::run(const std::vector<cv::Mat>& images, int warmUp, int rounds, const Watcher& watcher) {
    for (int round = 0; round < warmUp + rounds; ++round) {
        if (round == warmUp) forgetAll();
        for (const int batch : m_batches) {
            if (watcher.stopped())
                throw MeasureError(MeasureError::Kind::Failed,
                                   "stopped in round " + std::to_string(round + 1) + " of " +
                                       std::to_string(warmUp + rounds) +
                                       ", nothing is reported; --rounds measures fewer");
            if (images.empty()) throw MeasureError(MeasureError::Kind::Input, "no image to measure on");
            const cv::Mat blob = blobOf(images, batch, round);
            measureRound(blob, batch, round >= warmUp);
        }
        watcher.report(round + 1, warmUp + rounds);
    }
}

}  // namespace mpm::pipeline
