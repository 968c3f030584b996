// What the encoder that decides tells those behind it in the same network: they run later in the same thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

struct LeadFrame {
    std::vector<int> streams;      ///< of each image
    std::vector<FramePlan> plans;  ///< likewise
    /// Blocks of each encoder that followed so far, by who it is.
    std::shared_ptr<std::map<const void*, int>> followers;
};

/// Of the calling thread's last forward that decides; null where that one does not reuse.
const std::shared_ptr<const LeadFrame>& leadFrame();
void setLeadFrame(std::shared_ptr<const LeadFrame> frame);

}  // namespace mpm
