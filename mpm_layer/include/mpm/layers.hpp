// The layers of a network that run transformer blocks. <mpm/mpm.hpp> has everything else.
#pragma once

#include <vector>

#include <mpm/mpm.hpp>

namespace mpm {

/// Ids of layers for cv::dnn::Net::getLayer(), in the order of the network.
struct EncoderLayers {
    std::vector<int> segments;  ///< layers of the encoder that encoder(net) returns; several in a chain
    std::vector<int> others;    ///< all other MpmEncoder layers, such as decoders
};

/// @param net a network with an MpmEncoder; call registerLayers() before reading it
/// @return the MpmEncoder layers
/// @throws cv::Exception in the same cases as encoder(net)
MPM_API EncoderLayers encoderLayers(cv::dnn::Net& net);

}  // namespace mpm
