// The values for reuse over time that a network's file has.
#pragma once

#include <mpm/mpm.hpp>

namespace mpm::pipeline {

class Network;

/// Of the metadata `mpm.reuse`; the defaults where the file or the network has none. Throws cv::Exception
/// where they are not as expected.
mpm::Reuse reuseValues(const Network& network);

}  // namespace mpm::pipeline
