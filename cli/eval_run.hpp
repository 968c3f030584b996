// The evaluation itself: every method over every picture.
#pragma once

#include <string>
#include <vector>

#include "cli/model.hpp"
#include "cli/night_option.hpp"
#include "cli/report.hpp"
#include "cli/statistics.hpp"
#include "pipeline/dataset/layouts.hpp"
#include "pipeline/metric/confusion.hpp"
#include "pipeline/segment/flops.hpp"
#include "pipeline/segment/protocol.hpp"

namespace mpm::cli {

struct EvalOptions {
    CommonOptions common;
    std::string model, dataset, root, split = "val";
    std::vector<Method> methods;
    cv::Size size;
    int batch = 1;
    int limit = 0;  ///< 0: all
    NightOption night;
    std::string json, saveLabels;
};

struct EvalRow {
    Method method;
    pipeline::Confusion confusion;
    TokenMeans tokens;
    std::vector<double> operations;  ///< one entry a picture, over its windows
    int batch = 1, images = 0;
    Device device = Device::Cpu;
    Precision precision = Precision::F32;
    double windowsPerSecond = 0;
};

class EvalRun {
public:
    /// Throws Error where model or data set cannot be used.
    explicit EvalRun(const EvalOptions& options);

    void run();

    const std::vector<EvalRow>& rows() const { return m_rows; }
    const std::vector<std::string>& classNames() const { return m_set.classNames(); }
    const std::vector<std::string>& leftOut() const { return m_leftOut; }
    pipeline::Network& network() { return m_network; }

private:
    std::vector<pipeline::Sample> read(size_t from, size_t to);
    void evaluate(size_t row, const std::vector<pipeline::Sample>& samples);
    std::string labelsFolder(const EvalRow& row) const;

    const EvalOptions& m_options;
    pipeline::Network m_network;
    pipeline::LabelledSet m_set;
    pipeline::FlopsCounter m_flops;
    std::vector<int> m_schedule;
    std::vector<EvalRow> m_rows;
    std::vector<pipeline::ProtocolSegmenter> m_segmenters;  ///< one a row
    std::vector<std::string> m_leftOut;
};

}  // namespace mpm::cli
