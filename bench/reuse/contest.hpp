// A comparison of methods that run on the same frames in turn, each in a separate network.
#pragma once

#include <string>
#include <vector>

#include "bench/reuse/clips.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/measure/reuse_counts.hpp"
#include "pipeline/metric/confusion.hpp"
#include "pipeline/segment/flops.hpp"

namespace mpm::bench {

/// Sums over the measured frames of a method, except `worst`: the least agreement of a frame.
struct Score {
    int frames = 0;
    double ms = 0, operations = 0, agreement = 0, worst = 1;
    pipeline::Confusion confusion{11, 255};  ///< between the street's classes
    pipeline::ReuseCounts reuse;
    bool equalBits = true;  ///< whether all outputs equal those of the first method

    double meanMs() const { return ms / frames; }
    double gflops() const { return operations / frames / 1e9; }
    double meanAgreement() const { return agreement / frames; }
};

class MotionGate;

/// Returns a network on the CPU that runs a method.
pipeline::Network networkFor(const std::string& model, Precision precision, const pipeline::Method& method);

class Contest {
public:
    /// `methods`: a list as for --compare. Each method is compared with the first method, usually "none".
    Contest(const std::string& model, const pipeline::ModelCost& cost, Precision precision,
            const std::string& methods);

    /// Runs the methods on another clip and adds to the scores. Frames before `from` are not measured; they
    /// only warm up reuse. The gates get the labels of the first method.
    void run(const Clip& clip, int from = 0, std::vector<MotionGate>* gates = nullptr);
    void reset();

    const std::vector<Score>& scores() const { return m_scores; }
    pipeline::Network& network(size_t method) { return m_networks[method]; }

private:
    cv::Mat measure(size_t method, const cv::Mat& blob, bool counts);
    void see(const street::StreetFrame& shot, bool counts, std::vector<MotionGate>* gates);

    pipeline::FlopsCounter m_flops;
    std::vector<pipeline::Method> m_methods;
    std::vector<std::string> m_reducers;  ///< an entry for each method
    std::vector<pipeline::Network> m_networks;
    std::vector<Score> m_scores;
};

/// A simple method for fixed cameras, for comparison: computes all tokens if something moves, otherwise
/// repeats the labels of the last computed frame.
class MotionGate {
public:
    /// `share`: least share of an image's tiles that must change for a forward.
    explicit MotionGate(double share) : m_share(share) {}

    /// Adds a frame. `labels`, `ms` and `operations` must be the results of all tokens on this frame.
    void see(const street::StreetFrame& shot, const cv::Mat& labels, double ms, double operations);
    void restart() { m_seen.release(); }

    const Score& score() const { return m_score; }
    double share() const { return m_share; }

private:
    const double m_share;
    Score m_score;
    cv::Mat m_seen, m_labels;
};

}  // namespace mpm::bench
