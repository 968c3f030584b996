// What a picture costs: operations of the whole network with the tokens that were really there.
#pragma once

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// Two operations a multiply-add, as in the literature. Counted are OpenCV's layers, the encoder's products
/// and attention at the tokens entering each block, and N(N-1)D for every merge of N tokens.
class FlopsCounter {
public:
    /// Asks the network once; no forward is needed. Engines that do not tell leave the counter unknown.
    explicit FlopsCounter(Network& network);

    bool known() const { return m_known; }

    /// Operations of one image, NaN where unknown.
    double image(const mpm::ImageReport& report) const;

private:
    double encoder(const std::vector<int>& tokens) const;

    bool m_known = false;
    double m_rest = 0;             ///< everything but the encoder
    double m_weightsPerBlock = 0;  ///< elements of one block's products
    int m_dim = 0, m_special = 0;
};

}  // namespace mpm::pipeline
