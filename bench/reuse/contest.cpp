#include "bench/reuse/contest.hpp"

#include <algorithm>
#include <cstring>

#include <opencv2/imgproc.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/segment/segmenter.hpp"

namespace mpm::bench {
namespace {

bool sameBits(const cv::Mat& a, const cv::Mat& b) {
    return a.total() == b.total() && std::memcmp(a.data, b.data, a.total() * a.elemSize()) == 0;
}

}  // namespace

pipeline::Network networkFor(const std::string& model, Precision precision, const pipeline::Method& method) {
    pipeline::Network network(model);
    Encoder& encoder = network.encoder();
    encoder.setDevice(Device::Cpu);
    encoder.setPrecision(precision);
    applyMethod(network, method, ownMergingOf(network));
    return network;
}

Contest::Contest(const std::string& model, const pipeline::ModelCost& cost, Precision precision,
                 const std::string& methods)
    : m_flops(cost), m_methods(pipeline::methodsFrom(methods)), m_scores(m_methods.size()) {
    const pipeline::OwnMerging own = ownMergingOf(pipeline::Network(model));
    for (const pipeline::Method& method : m_methods) {
        m_networks.push_back(networkFor(model, precision, method));
        m_reducers.push_back(method.reducer(own));
    }
}

void Contest::reset() {
    m_scores.assign(m_methods.size(), Score());
}

cv::Mat Contest::measure(size_t method, const cv::Mat& blob, bool counts) {
    pipeline::Network& network = m_networks[method];
    const Stopwatch watch;
    cv::Mat output = network.forward(blob);
    const double ms = watch.milliseconds();
    if (!counts) return output;
    const ImageReport image = network.encoder().report().images.at(0);
    Score& score = m_scores[method];
    ++score.frames;
    score.ms += ms;
    score.operations += m_flops.image(image, m_reducers[method]);
    score.reuse.add(image.reuse);
    return output;
}

void Contest::run(const Clip& clip, int from, std::vector<MotionGate>* gates) {
    for (pipeline::Network& network : m_networks) {
        network.forward(network.blob({cv::Mat(network.info().size, CV_8UC3, cv::Scalar::all(128))}));
        network.encoder().forget();  // the forward above must not affect the clip's first frame
    }
    for (int number = 0; number < clip.frames; ++number)
        see(clip.shots(number), number >= from, gates);
}

void Contest::see(const street::StreetFrame& shot, bool counts, std::vector<MotionGate>* gates) {
    const cv::Mat blob = m_networks[0].blob({shot.image});
    const Score before = m_scores[0];
    cv::Mat first, wanted;
    for (size_t i = 0; i < m_methods.size(); ++i) {
        if (!counts && !m_methods[i].reuses()) continue;  // other methods need no warm-up
        const cv::Mat output = measure(i, blob, counts);
        if (!counts) continue;
        Score& score = m_scores[i];
        const cv::Mat labels = pipeline::labelsOf(output, 0, m_networks[0].info().size);
        if (i == 0) first = output, wanted = labels;
        const double agreement = pipeline::shareOfEqual(wanted, labels);
        score.agreement += agreement;
        score.worst = std::min(score.worst, agreement);
        score.equalBits &= sameBits(first, output);
        if (!shot.labels.empty()) score.confusion.add(shot.labels, labels);
    }
    if (!counts || gates == nullptr) return;
    for (MotionGate& gate : *gates)
        gate.see(shot, wanted, m_scores[0].ms - before.ms, m_scores[0].operations - before.operations);
}

void MotionGate::see(const street::StreetFrame& shot, const cv::Mat& labels, double ms, double operations) {
    constexpr int kTile = 16;
    constexpr double kMoves = 4;  // grey levels: more than the noise of a tile's mean, even by night
    const Stopwatch watch;
    cv::Mat tiles, difference;
    cv::resize(shot.image, tiles, shot.image.size() / kTile, 0, 0, cv::INTER_AREA);
    bool moves = m_seen.empty();
    if (!moves) {
        cv::absdiff(tiles, m_seen, difference);
        const double moving =
            cv::countNonZero(difference.reshape(1, static_cast<int>(tiles.total())) > kMoves);
        moves = moving > 3 * m_share * static_cast<double>(tiles.total());
    }
    m_score.ms += watch.milliseconds();
    if (moves) {
        m_seen = tiles;
        m_labels = labels.clone();
        m_score.ms += ms;
        m_score.operations += operations;
    }
    ++m_score.frames;
    if (!shot.labels.empty()) m_score.confusion.add(shot.labels, m_labels);
    const double agreement = pipeline::shareOfEqual(labels, m_labels);
    m_score.agreement += agreement;
    m_score.worst = std::min(m_score.worst, agreement);
}

}  // namespace mpm::bench
