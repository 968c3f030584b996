// A benchmark of methods. Each round runs all methods in turn, so that a change of the machine's speed
// affects all methods alike.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "pipeline/measure/method.hpp"
#include "pipeline/measure/reuse_counts.hpp"
#include "pipeline/measure/watcher.hpp"
#include "pipeline/segment/flops.hpp"
#include "pipeline/segment/layer_parts.hpp"

namespace mpm::pipeline {

/// The times of a part of the network; see LayerParts.
struct PartTimes {
    std::string name;
    std::vector<double> times;  ///< ms per image, by round

    double ms() const { return quantile(times, 0.5); }
    double meanMs() const { return mean(times); }
};

/// The results of a method at a batch size. Times are milliseconds per image.
struct BenchRow {
    Method method;
    int batch = 1;
    Device device = Device::Cpu;
    Precision precision = Precision::F32;
    TokenMeans tokens;
    std::vector<double> forwards, encoders, merges, restores;  ///< by round
    /// All parts of the network, and the time outside of layers; empty if OpenCV's engine measures no layers.
    std::vector<PartTimes> parts;
    std::vector<double> operations, kept;  ///< by image
    std::vector<double> blockOperations;   ///< by block, summed over images
    ReuseCounts reuse;
    std::vector<double> agreement;    ///< share of pixels with the same label as without merging, by frame
    std::vector<double> padded;       ///< ms per image with padding, by round; only if token counts differ
    std::vector<double> paddedShare;  ///< rows with padding / rows without padding, by round as in `padded`

    double ms(double share) const { return quantile(forwards, share); }
    double meanMs() const { return mean(forwards); }
    double encoderMs() const { return quantile(encoders, 0.5); }
    double mergeMs() const { return quantile(merges, 0.5); }
    double restoreMs() const { return quantile(restores, 0.5); }
    double paddedMs() const { return quantile(padded, 0.5); }
    double paddedRows() const { return mean(paddedShare); }
    double keptQuantile(double share) const { return quantile(kept, share); }
    std::vector<double> blockGflops() const;  ///< mean per image
    double gflops() const { return mean(operations) / 1e9; }
    double gflopsDeviation() const { return deviation(operations) / 1e9; }
    Rate imagesPerSecond() const;  ///< with the standard error over rounds
};

/// Returns the speed of `row` divided by the speed of `base`. If the method reuses, compares mean times,
/// because the work differs from frame to frame; else compares medians.
double speedOf(const BenchRow& row, const BenchRow& base);

/// Returns the row of the method "none" at the batch size of `row`; null if there is no such row.
const BenchRow* baseOf(const std::vector<BenchRow>& rows, const BenchRow& row);

/// The networks of a benchmark. Each batch size has a separate network, because OpenCV reallocates buffers if
/// the batch size changes. Each method that reuses has a separate network, because reuse keeps state.
class BenchNetworks {
public:
    explicit BenchNetworks(std::function<Network()> open) : m_open(std::move(open)) {}

    Network& of(const Method& method, int batch);
    Network& any() { return m_networks.begin()->second; }

private:
    std::function<Network()> m_open;
    std::map<std::pair<int, std::string>, Network> m_networks;
};

class BenchRounds {
public:
    /// Throws MeasureError if the encoder rejects a method, if a method needs labels, or if a method that
    /// reuses would run in batches. Reuse needs the frames of a clip one after another.
    BenchRounds(BenchNetworks networks, const std::vector<int>& batches, const ModelCost& cost,
                const std::vector<Method>& methods);

    /// Runs the rounds. Each round runs each method at each batch size once. All methods get the same images.
    /// Throws MeasureError if `watcher` stops the run.
    void run(const std::vector<cv::Mat>& images, int warmUp, int rounds, const Watcher& watcher = {});

    const std::vector<BenchRow>& rows() const { return m_rows; }
    Network& network() { return m_networks.any(); }

private:
    void forgetAll();
    cv::Mat measure(BenchRow& row, const cv::Mat& blob, bool keep);
    void measureRound(const cv::Mat& blob, int batch, bool keep);
    void measurePadded(BenchRow& row, const cv::Mat& blob, const mpm::Report& packed);
    void measureParts(BenchRow& row, Network& network, double ms);
    void count(BenchRow& row, const mpm::Report& report);
    cv::Mat blobOf(const std::vector<cv::Mat>& images, int batch, int round);

    BenchNetworks m_networks;
    std::map<const Network*, LayerParts> m_parts;
    std::vector<int> m_batches;
    OwnMerging m_own;
    std::vector<BenchRow> m_rows;
    FlopsCounter m_flops;
};

}  // namespace mpm::pipeline
