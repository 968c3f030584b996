// A benchmark of the tracker, for each light and frame rate. The tracker gets the true boxes of the built-in
// street, except a random tenth of them.
//   mpm_bench_tracks [STREETS [SECONDS]]
// The bar (required value) is an IDF1 of 0.85 at 5 frames a second. The exit status is 1 if any light misses
// the bar.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "support/street_tracks.hpp"

namespace {

constexpr int kMostFrames = 25;  // frames a second
constexpr double kDropped = .1, kBar = .85;
const cv::Size kSize(640, 480);

void print(const char* light, int rate, const std::vector<mpm::pipeline::TrackCounts>& streets) {
    const mpm::pipeline::TrackFigures all = combinedFigures(streets);
    long long boxes = 0, objects = 0;
    for (const auto& one : streets)
        boxes += one.truthBoxes, objects += one.truthIds;
    std::printf("| %s | %d | %lld | %lld | %.3f | %.3f | %.3f | %lld |\n", light, rate, objects, boxes,
                all.hota, all.mota, all.idf1, static_cast<long long>(all.switches));
    std::fflush(stdout);
}

/// Returns whether the bar is reached. The caller must pass different streets for each light: the light does
/// not change the true boxes, so the same streets would give the same result.
bool measure(const char* light, int firstSeed, int streets, double seconds) {
    std::map<int, std::vector<mpm::pipeline::TrackCounts>> byRate;
    for (int i = 0; i < streets; ++i) {
        const int seed = firstSeed + i;
        const auto boxes = mpm::test::streetBoxes(kSize, light, kMostFrames, seconds, seed);
        for (const int rate : {1, 5, 25})
            byRate[rate].push_back(mpm::test::followStreet(boxes, kSize, kMostFrames, kMostFrames / rate,
                                                           kDropped, static_cast<uint64_t>(seed)));
    }
    for (const auto& [rate, counts] : byRate)
        print(light, rate, counts);
    return combinedFigures(byRate[5]).idf1 >= kBar;
}

}  // namespace

int main(int argc, char** argv) {
    const int streets = argc > 1 ? std::atoi(argv[1]) : 4;
    const double seconds = argc > 2 ? std::atof(argv[2]) : 40;
    if (argc > 3 || streets < 1 || streets > 1000 || !(seconds >= 2 && seconds <= 3600)) {
        std::fprintf(stderr, "usage: mpm_bench_tracks [STREETS [SECONDS]]\n");
        return 2;
    }
    std::printf(
        "%d streets of %g s each; %.0f %% of the boxes dropped; at least %.0f %% of an object visible\n\n",
        streets, seconds, 100 * kDropped, 100 * mpm::test::kLeastVisible);
    std::printf("| light | frames/s | objects | boxes | HOTA | MOTA | IDF1 | switches |\n");
    std::printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    bool held = true;
    int seed = 1;
    for (const char* light : {"day", "dusk", "night"}) {
        held = measure(light, seed, streets, seconds) && held;
        seed += streets;
    }
    return held ? 0 : 1;
}
