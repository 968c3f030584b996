#include "pipeline/dataset/track_files.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "base/read_file.hpp"

namespace mpm::pipeline {

namespace {

constexpr size_t kLongestLine = 1000;
constexpr size_t kMostLines = 20'000'000;
constexpr int kLastFrame = 100'000'000;
constexpr double kLargestPlace = 1e9;
constexpr double kLargestId = 0x1p53;

class Line {
public:
    Line(const std::string& path, size_t number, const std::string& text)
        : m_path(path), m_number(number), m_text(text) {
        const char *at = text.data(), *end = at + text.size();
        while (true) {
            while (at != end && isBlank(*at))
                ++at;
            if (at == end) break;
            const NumberRead read = readNumber(at, end);
            if (read.end == at || !std::isfinite(read.value)) fail("has no number at \"" + rest(at) + "\"");
            m_values.push_back(read.value);
            at = read.end;
            while (at != end && isBlank(*at))
                ++at;
            if (at == end) break;
            if (*at == ',')
                ++at;
            else if (at == read.end)
                fail("has no comma at \"" + rest(at) + "\"");
        }
    }

    bool empty() const { return m_values.empty(); }
    void demandBox() const {
        if (m_values.size() < 6)
            fail("has " + std::to_string(m_values.size()) +
                 " numbers; expected frame, identity, left, top, width, height");
    }
    int frame() const {
        if (m_values[0] != std::trunc(m_values[0]) || m_values[0] < 1 || m_values[0] > kLastFrame)
            fail("has frame " + numberText(m_values[0]) + "; expected 1 to " + std::to_string(kLastFrame));
        return static_cast<int>(m_values[0]);
    }
    TrackBox box() const {
        if (m_values[1] != std::trunc(m_values[1]) || std::abs(m_values[1]) > kLargestId)
            fail("has identity " + numberText(m_values[1]) + "; expected a whole number");
        for (int i = 2; i < 6; ++i)
            if (std::abs(m_values[i]) > kLargestPlace) fail("has a box with numbers above 10^9");
        return {static_cast<int64_t>(m_values[1]), {m_values[2], m_values[3], m_values[4], m_values[5]}};
    }
    double confidence() const { return m_values.size() > 6 ? m_values[6] : 1; }

    [[noreturn]] void fail(const std::string& fault) const {
        CV_Error(cv::Error::StsParseError,
                 printable(m_path) + ", line " + std::to_string(m_number) + " " + fault);
    }

private:
    static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
    std::string rest(const char* at) const { return printable(m_text.substr(at - m_text.data()), 40); }

    const std::string& m_path;
    const size_t m_number;
    const std::string& m_text;
    std::vector<double> m_values;
};

}  // namespace

TrackFile readTracks(const std::string& path, bool truth) {
    LineReader reader(path, kLongestLine);
    TrackFile file;
    std::set<std::pair<int, int64_t>> seen;
    std::string text;
    for (size_t number = 1; reader.next(text); ++number) {
        const Line line(path, number, text);
        if (number > kMostLines) line.fail("is one of more than 20 million; such a file is not scored");
        if (line.empty()) continue;
        line.demandBox();
        const int frame = line.frame();
        const TrackBox box = line.box();
        file.last = std::max(file.last, frame);
        if (truth && line.confidence() == 0) continue;
        if (!seen.emplace(frame, box.id).second)
            line.fail("has identity " + std::to_string(box.id) + " a second time in frame " +
                      std::to_string(frame));
        file.frames[frame].push_back(box);
    }
    if (reader.failed()) CV_Error(cv::Error::StsError, printable(path) + " cannot be read");
    return file;
}

}  // namespace mpm::pipeline
