#include "models/torch/train/curve.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "base/private_files.hpp"
#include "base/read_file.hpp"

namespace mpm::models {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 30;  // ten million steps
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

}  // namespace

Curve::Curve(std::string csvPath, int64_t lastStep) : m_csvPath(std::move(csvPath)) {
    if (std::filesystem::exists(m_csvPath)) {
        std::istringstream file(readRegularFile(m_csvPath, kLongest));
        std::string line;
        std::getline(file, line);
        while (std::getline(file, line)) {
            CurveRow row;
            if (fromLine(line, row) && row.step <= lastStep) m_rows.push_back(row);
        }
    }
    std::string text = kHeader;
    text += '\n';
    for (const auto& row : m_rows)
        text += toLine(row) + '\n';
    writeAtomically(m_csvPath, text);
}

void Curve::add(const CurveRow& row) {
    m_rows.push_back(row);
    const int file = openPrivate(m_csvPath, O_APPEND);
    const std::string line = toLine(row) + '\n';
    const bool written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    const int reason = errno;
    close(file);
    if (!written)
        CV_Error(cv::Error::StsError, m_csvPath + ": cannot be written (" + std::strerror(reason) + ")");
}

namespace {

struct Plot {
    cv::Mat canvas{520, 900, CV_8UC3, cv::Scalar::all(255)};
    cv::Rect frame{70, 30, 760, 420};
    double images = 1, loss = 1, miou = 1;

    cv::Point at(double x, double share) const {
        return {frame.x + cvRound(x / images * frame.width), frame.y + cvRound((1 - share) * frame.height)};
    }
    void text(const std::string& words, cv::Point where, const cv::Scalar& colour) {
        cv::putText(canvas, words, where, cv::FONT_HERSHEY_SIMPLEX, 0.45, colour, 1, cv::LINE_AA);
    }
};

std::string number(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.3g", value);
    return digits;
}

void drawAxes(Plot& plot, const cv::Scalar& lossColour, const cv::Scalar& miouColour) {
    const cv::Scalar grey(225, 225, 225), dark(60, 60, 60);
    for (int i = 0; i <= 5; ++i) {
        const double share = i / 5.0;
        const cv::Point left = plot.at(0, share), right = plot.at(plot.images, share);
        cv::line(plot.canvas, left, right, grey, 1, cv::LINE_AA);
        plot.text(number(share * plot.loss), left + cv::Point(-50, 5), lossColour);
        plot.text(number(share * plot.miou), right + cv::Point(8, 5), miouColour);
        plot.text(number(share * plot.images / 1000) + "k",
                  plot.at(share * plot.images, 0) + cv::Point(-12, 22), dark);
    }
    plot.text("images seen",
              {plot.frame.x + plot.frame.width / 2 - 45, plot.frame.y + plot.frame.height + 48}, dark);
    plot.text("loss", {plot.frame.x - 50, plot.frame.y - 12}, lossColour);
    plot.text("val mIoU", {plot.frame.x + plot.frame.width - 20, plot.frame.y - 12}, miouColour);
}

}  // namespace

void Curve::draw(const std::string& pngPath) const {
    if (m_rows.empty()) return;
    Plot plot;
    plot.loss = plot.miou = 0.1;
    for (const auto& row : m_rows) {
        plot.images = std::max(plot.images, static_cast<double>(row.images));
        plot.loss = std::max(plot.loss, row.loss);
        if (!std::isnan(row.miou)) plot.miou = std::max(plot.miou, row.miou);
    }
    const cv::Scalar lossColour(180, 120, 40), miouColour(40, 90, 220);
    drawAxes(plot, lossColour, miouColour);
    std::vector<cv::Point> loss, miou;
    for (const auto& row : m_rows) {
        loss.push_back(plot.at(static_cast<double>(row.images), row.loss / plot.loss));
        if (!std::isnan(row.miou))
            miou.push_back(plot.at(static_cast<double>(row.images), row.miou / plot.miou));
    }
    cv::polylines(plot.canvas, loss, false, lossColour, 1, cv::LINE_AA);
    cv::polylines(plot.canvas, miou, false, miouColour, 2, cv::LINE_AA);
    for (const auto& point : miou)
        cv::circle(plot.canvas, point, 3, miouColour, cv::FILLED, cv::LINE_AA);
    std::vector<uchar> png;
    if (!cv::imencode(".png", plot.canvas, png)) return;
    writeAtomically(pngPath, {reinterpret_cast<const char*>(png.data()), png.size()});
}

}  // namespace mpm::models
