// Mean tokens entering each block, over images.
#pragma once

#include <vector>

#include <mpm/mpm.hpp>

namespace mpm::pipeline {

class TokenMeans {
public:
    /// `mapGiven`: the first stage is an input map and not part of the schedule.
    void add(const mpm::ImageReport& report, bool mapGiven);
    std::vector<double> means() const;
    std::vector<int> schedule() const { return m_schedule; }  ///< blocks of the first image's stages

private:
    std::vector<double> m_sums;
    std::vector<int> m_schedule;
    int m_images = 0;
};

/// Blocks before which the method merged.
std::vector<int> scheduleOf(const mpm::ImageReport& report, bool mapGiven);

/// Image tokens left after the last merge.
int tokensKept(const mpm::ImageReport& report);

}  // namespace mpm::pipeline
