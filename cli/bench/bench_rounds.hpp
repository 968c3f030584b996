// The measuring itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "cli/common/model.hpp"
#include "cli/common/report.hpp"
#include "pipeline/segment/flops.hpp"

namespace mpm::cli {

/// One method at one batch size. Times are milliseconds an image.
struct BenchRow {
    Method method;
    int batch = 1;
    Device device = Device::Cpu;
    Precision precision = Precision::F32;
    TokenMeans tokens;
    std::vector<double> forwards, encoders, merges, restores;  ///< one entry a round
    std::vector<double> operations, kept;                      ///< one entry an image
    std::vector<double> blockOperations;                       ///< by block, summed over images
    std::vector<double> padded;  ///< ms an image as if padded to the longest; one a round with ragged counts
    std::vector<double> paddedShare;  ///< rows that padding computes against those there are, likewise

    double ms(double share) const { return quantile(forwards, share); }
    double encoderMs() const { return quantile(encoders, 0.5); }
    double mergeMs() const { return quantile(merges, 0.5); }
    double restoreMs() const { return quantile(restores, 0.5); }
    double paddedMs() const { return quantile(padded, 0.5); }
    double paddedRows() const { return mean(paddedShare); }
    double keptQuantile(double share) const { return quantile(kept, share); }
    std::vector<double> blockGflops() const;  ///< mean of an image
    double gflops() const { return mean(operations) / 1e9; }
    double gflopsDeviation() const { return deviation(operations) / 1e9; }
    double imagesPerSecond() const;
    double standardError() const;  ///< of imagesPerSecond, over rounds; NaN of a single one
};

class BenchRounds {
public:
    /// One network for each batch size: changing the batch of one makes OpenCV allocate anew in the middle of
    /// it.
    BenchRounds(const std::string& model, const CommonOptions& options, cv::Size size,
                const std::vector<Method>& methods, const std::vector<int>& batches);

    void run(const std::vector<cv::Mat>& pictures, int warmUp, int rounds);

    const std::vector<BenchRow>& rows() const { return m_rows; }
    pipeline::Network& network() { return m_networks.begin()->second; }

private:
    void measure(BenchRow& row, const cv::Mat& blob, bool keep);
    void measurePadded(BenchRow& row, const cv::Mat& blob, const mpm::Report& packed);
    void count(BenchRow& row, const mpm::Report& report);
    cv::Mat blobOf(const std::vector<cv::Mat>& pictures, int batch, int round);

    std::map<int, pipeline::Network> m_networks;  ///< by batch size
    std::vector<int> m_schedule;                  ///< of a bare `mpm`
    std::vector<BenchRow> m_rows;
    pipeline::FlopsCounter m_flops;
};

}  // namespace mpm::cli
