// Fuzzes files of annotations, detections and tracks. They must be evaluated, or rejected with a clear error.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "pipeline/dataset/coco_files.hpp"
#include "pipeline/dataset/track_files.hpp"

namespace {

using namespace mpm::pipeline;

/// Evaluates boxes. The annotations end at the first byte 0, and the detections follow.
void scoreBoxes(bool masks) {
    try {
        const CocoTruth truth = readCocoTruth("annotations", masks);
        size_t leftOut = 0;
        const auto found = readCocoResults("results", truth, masks, leftOut);
        const CocoScores scores = cocoScores(
            cocoMatches(truth.imageIds(), truth.categoryIds(), truth.objects, found), truth.categoryIds());
        for (const double figure : scores.figures)
            if (!(figure == -1 || (figure >= 0 && figure <= 1 + 1e-9))) std::abort();
    } catch (const cv::Exception&) {
    }
}

void scoreTracks() {
    try {
        const TrackFigures f =
            trackCounts(readTracks("annotations", true).frames, readTracks("results", false).frames).figures;
        for (const double figure : {f.hota, f.detA, f.assA, f.locA, f.idf1})
            if (!(figure >= 0 && figure <= 1 + 1e-9)) std::abort();
    } catch (const cv::Exception&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const size_t end = std::min(text.find('\0'), text.size());
    std::ofstream("annotations", std::ios::binary) << text.substr(0, end);
    std::ofstream("results", std::ios::binary) << (end < text.size() ? text.substr(end + 1) : "");
    scoreBoxes(false);
    scoreBoxes(true);
    scoreTracks();
    return 0;
}
