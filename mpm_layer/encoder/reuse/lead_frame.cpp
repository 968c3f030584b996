#include "mpm_layer/encoder/reuse/lead_frame.hpp"

#include <utility>

namespace mpm {
namespace {

thread_local std::shared_ptr<const LeadFrame> t_frame;

}  // namespace

const std::shared_ptr<const LeadFrame>& leadFrame() {
    return t_frame;
}

void setLeadFrame(std::shared_ptr<const LeadFrame> frame) {
    t_frame = std::move(frame);
}

}  // namespace mpm
