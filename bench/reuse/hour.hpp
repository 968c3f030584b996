// An hour of a street through day, dusk and night, as a single stream with reuse.
#pragma once

#include <string>
#include <vector>

#include <mpm/mpm.hpp>

namespace mpm::bench {

/// The results of ten minutes of the hour.
struct HourPart {
    double loss = 0;      ///< points of mIoU below all tokens on the same frames
    double computed = 0;  ///< mean share of computed tokens
    double resident = 0;  ///< resident memory of the process at the end, in MB
};

constexpr int kHourParts = 6;

/// Runs `frames` frames, five a second. An hour has 18,000 frames; with fewer frames, the light changes
/// faster. Compares every `every`-th frame with all tokens.
std::vector<HourPart> watchHour(const std::string& model, Precision precision, const std::string& reuse,
                                int frames, int every);

double residentMb();

}  // namespace mpm::bench
