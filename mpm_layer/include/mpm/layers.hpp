// The layers of a network that run transformer blocks. <mpm/mpm.hpp> has everything else.
#pragma once

#include <vector>

#include <mpm/mpm.hpp>

namespace mpm {

/// Ids as cv::dnn::Net::getLayer() takes them, in the order in which the layers run.
struct EncoderLayers {
    std::vector<int> segments;  ///< of the encoder that encoder(net) returns: a layer, or all of a chain
    std::vector<int> others;    ///< all other MpmEncoder layers: decoders, for example
};

/// @param net a network with an MpmEncoder; call registerLayers() before reading it
/// @return the MpmEncoder layers
/// @throws cv::Exception if none merges, as encoder(net) does
MPM_API EncoderLayers encoderLayers(cv::dnn::Net& net);

}  // namespace mpm
