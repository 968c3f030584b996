#include "cli/bench_rounds.hpp"

#include <cmath>

#include "cli/cost.hpp"
#include "cli/error.hpp"
#include "cli/terminal.hpp"

namespace mpm::cli {

namespace {

std::vector<double> rates(const BenchRow& row) {
    std::vector<double> values;
    for (double ms : row.forwards)
        values.push_back(1000 / ms);
    return values;
}

std::map<int, pipeline::Network> openNetworks(const std::string& model, const CommonOptions& options,
                                              cv::Size size, const std::vector<int>& batches) {
    std::map<int, pipeline::Network> networks;
    for (int batch : batches)
        networks.try_emplace(batch, openNetwork(model, options, size));
    return networks;
}

}  // namespace

double BenchRow::imagesPerSecond() const {
    return mean(rates(*this));
}

double BenchRow::standardError() const {
    return deviation(rates(*this)) / std::sqrt(static_cast<double>(std::max<size_t>(forwards.size(), 1)));
}

BenchRounds::BenchRounds(const std::string& model, const CommonOptions& options, cv::Size size,
                         const std::vector<Method>& methods, const std::vector<int>& batches)
    : m_networks(openNetworks(model, options, size, batches)),
      m_flops(modelCost(m_networks.begin()->second)) {
    m_schedule = network().encoder().schedule();
    for (const auto& [batch, net] : m_networks)
        for (const Method& method : methods) {
            applyMethod(network().encoder(), method,
                        m_schedule);  // what is refused is refused before anything runs
            m_rows.push_back({});
            m_rows.back().method = method;
            m_rows.back().batch = batch;
        }
}

cv::Mat BenchRounds::blobOf(const std::vector<cv::Mat>& pictures, int batch, int round) {
    std::vector<cv::Mat> chosen;
    for (int i = 0; i < batch; ++i)
        chosen.push_back(pictures[(size_t(round) * batch + i) % pictures.size()]);
    return m_networks.at(batch).blob(chosen);
}

void BenchRounds::measure(BenchRow& row, const cv::Mat& blob, bool keep) {
    pipeline::Network& network = m_networks.at(row.batch);
    applyMethod(network.encoder(), row.method, m_schedule);
    const std::int64_t start = cv::getTickCount();
    try {
        network.forward(blob);
    } catch (const cv::Exception& error) {
        if (row.batch == 1) throw;
        throw Error(kFailed, network.name() + ": cannot run with batch " + std::to_string(row.batch) + " (" +
                                 error.err + "); if its batch is fixed, convert it with --batch");
    }
    if (!keep) return;
    const double ms = static_cast<double>(cv::getTickCount() - start) * 1e3 / cv::getTickFrequency();
    const mpm::Report report = network.encoder().report();
    row.device = report.device;
    row.precision = report.precision;
    row.forwards.push_back(ms / row.batch);
    row.encoders.push_back(report.times.whole / row.batch);
    row.merges.push_back(report.times.merge / row.batch);
    row.restores.push_back(report.times.restore / row.batch);
    for (const mpm::ImageReport& image : report.images) {
        row.tokens.add(image);
        row.operations.push_back(m_flops.image(image, row.method.name));
    }
}

void BenchRounds::run(const std::vector<cv::Mat>& pictures, int warmUp, int rounds) {
    Progress progress("round", warmUp + rounds);
    for (int round = 0; round < warmUp + rounds; ++round) {
        for (auto& [batch, network] : m_networks) {
            const cv::Mat blob = blobOf(pictures, batch, round);
            for (BenchRow& row : m_rows)
                if (row.batch == batch) measure(row, blob, round >= warmUp);
        }
        progress.add();
    }
}

}  // namespace mpm::cli
