#include "models/torch/train/train.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include <opencv2/imgcodecs.hpp>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "base/private_files.hpp"
#include "base/read_file.hpp"
#include "pipeline/chart/figure.hpp"

namespace mpm::models {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 30;  // enough for ten million steps
constexpr const char* kHeader = "step,images,rate,loss,miou,seconds";

double numberFrom(const std::string& cell) {
    const char* end = cell.data() + cell.size();
    const NumberRead read = readNumber(cell.data(), end);
    if (cell.empty() || read.end != end)
        throw std::invalid_argument("'" + printable(cell, 40) + "' in a training curve is no number");
    return read.value;
}

int64_t wholeFrom(const std::string& cell) {
    int64_t value = 0;
    const char* end = cell.data() + cell.size();
    const auto read = std::from_chars(cell.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end)
        throw std::invalid_argument("'" + printable(cell, 40) + "' in a training curve is no whole number");
    return value;
}

std::string toLine(const CurveRow& row) {
    return std::to_string(row.step) + "," + std::to_string(row.images) + "," + fixedText(row.rate, 8) + "," +
           fixedText(row.loss, 6) + "," + (std::isnan(row.miou) ? "" : fixedText(row.miou, 5)) + "," +
           fixedText(row.seconds, 1);
}

bool fromLine(const std::string& line, CurveRow& row) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');)
        cells.push_back(cell);
    if (cells.size() != 6) return false;
    row.step = wholeFrom(cells[0]);
    row.images = wholeFrom(cells[1]);
    row.rate = numberFrom(cells[2]);
    row.loss = numberFrom(cells[3]);
    row.miou = cells[4].empty() ? std::numeric_limits<double>::quiet_NaN() : numberFrom(cells[4]);
    row.seconds = numberFrom(cells[5]);
    return true;
}

std::vector<CurveRow> rowsOf(const std::string& path, int64_t lastStep) {
    std::vector<CurveRow> rows;
    if (!std::filesystem::exists(path)) return rows;
    std::istringstream file(readRegularFile(path, kLongest));
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        CurveRow row;
        if (fromLine(line, row) && row.step <= lastStep) rows.push_back(row);
    }
    return rows;
}

std::string tableOf(const std::vector<CurveRow>& rows) {
    std::string text = kHeader;
    text += '\n';
    for (const auto& row : rows)
        text += toLine(row) + '\n';
    return text;
}

}  // namespace

Curve::Curve(const std::string& csvPath, int64_t lastStep)
    : m_rows(rowsOf(csvPath, lastStep)), m_file(csvPath, tableOf(m_rows), Access::Umask) {}

void Curve::add(const CurveRow& row) {
    m_rows.push_back(row);
    m_file.add(toLine(row) + '\n');
}

void Curve::draw(const std::string& pngPath, const std::string& measure) const {
    if (m_rows.empty()) return;
    pipeline::PlotPanel loss, miou;
    loss.title = "Loss", miou.title = measure + " on the validation split";
    for (pipeline::PlotPanel* panel : {&loss, &miou}) {
        panel->xLabel = "thousand images seen";
        panel->fromZero = true;
        panel->series.resize(1);
    }
    loss.series[0].markers = false;
    for (const CurveRow& row : m_rows) {
        const double seen = static_cast<double>(row.images) / 1000;
        loss.series[0].points.push_back({seen, row.loss, 0, 0, {}});
        if (!std::isnan(row.miou)) miou.series[0].points.push_back({seen, row.miou, 0, 0, {}});
    }
    loss.series[0].name = "loss", miou.series[0].name = measure;
    const cv::Mat image = pipeline::toImage({"Training curve", {loss, miou}});
    std::vector<uchar> png;
    if (!cv::imencode(".png", image, png)) return;
    writeAtomically(pngPath, {reinterpret_cast<const char*>(png.data()), png.size()}, Access::Umask);
}

}  // namespace mpm::models
