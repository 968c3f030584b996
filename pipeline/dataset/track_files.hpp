// Reads tracks in MOTChallenge's text format: frame, identity, left, top, width, height, confidence, ...
#pragma once

#include <string>

#include "pipeline/metric/tracks.hpp"

namespace mpm::pipeline {

struct TrackFile {
    TrackFrames frames;  ///< by frame number, from 1
    int last = 0;        ///< largest frame number in the file
};

/// `truth`: whether to ignore lines with confidence 0, as MOTChallenge defines for true tracks. Throws a
/// cv::Exception that names the file, the line and the fault.
TrackFile readTracks(const std::string& path, bool truth);

}  // namespace mpm::pipeline
