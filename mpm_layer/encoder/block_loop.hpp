// The order of one forward: merge, attend, merge, MLP, and hand out tokens at the taps.
#pragma once

#include <vector>

#include "mpm_layer/encoder/backend.hpp"

namespace mpm {

/// reduceAt(moment, block) merges where a stage is due. Outputs are allocated, one for each tap.
template <class ReduceAt>
void runBlocks(const EncoderConfig& config, Session& session, std::vector<cv::Mat>& outputs,
               const ReduceAt& reduceAt) {
    size_t tap = 0;
    for (int b = 0; b < config.blocks; ++b) {
        const int block = config.firstBlock + b;
        reduceAt(Moment::BeforeBlock, block);
        session.attend(b);
        reduceAt(Moment::AfterAttention, block);
        session.runMlp(b);
        if (tap >= config.taps.size() || config.taps[tap] != block) continue;
        session.emit(config.tapNorm[tap] != 0, outputs[tap]);
        ++tap;
    }
    session.finish();
}

}  // namespace mpm
