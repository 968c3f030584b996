#include "pipeline/segment/reuse_values.hpp"

#include <mpm/read_net.hpp>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

mpm::Reuse reuseValues(const Network& network) {
    return network.random() ? mpm::Reuse() : mpm::reuseOf(network.name());
}

}  // namespace mpm::pipeline
