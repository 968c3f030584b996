// What a picture costs: operations of the whole network with the tokens that were really there.
#pragma once

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// Two operations a multiply-add, as in the literature. Counted are OpenCV's layers, the encoder's products
/// and attention with the tokens that took part in them, and the similarities each method computes to merge.
class FlopsCounter {
public:
    /// Asks the network once; no forward is needed. Engines that do not tell leave the counter unknown.
    explicit FlopsCounter(Network& network);

    bool known() const { return m_known; }

    /// Operations of one image, NaN where unknown. `method` is a name of Encoder::setMethod.
    double image(const mpm::ImageReport& report, const std::string& method = "mpm") const;

private:
    double encoder(const mpm::ImageReport& report) const;
    double merging(double entering, const std::string& method) const;

    bool m_known = false;
    double m_rest = 0;  ///< everything but the encoder
    double m_attentionWeights =
        0;                    ///< elements of the products of one block's attention (qkv and projection)
    double m_mlpWeights = 0;  ///< of one block's MLP
    int m_dim = 0, m_heads = 1, m_special = 0;
};

}  // namespace mpm::pipeline
