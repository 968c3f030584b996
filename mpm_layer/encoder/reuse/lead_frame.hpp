// Information from the encoder that decides to those behind it in the network, which run later in the same
// thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

struct LeadFrame {
    std::vector<int> streams;      ///< of each image
    std::vector<FramePlan> plans;  ///< of each image
    /// Blocks of each encoder that followed so far, by encoder.
    std::shared_ptr<std::map<const void*, int>> followers;
};

/// Of the calling thread's last forward that decides; null if that one does not reuse.
const std::shared_ptr<const LeadFrame>& leadFrame();
void setLeadFrame(std::shared_ptr<const LeadFrame> frame);

}  // namespace mpm
