#include "cli/common/network.hpp"

#include "cli/common/error.hpp"
#include "models/onnx/inspect.hpp"
#include "pipeline/segment/flops.hpp"

namespace mpm::cli {

namespace {

pipeline::ModelCost randomCost(const pipeline::Network& network) {
    pipeline::RandomModel model;
    model.size = network.info().size;
    model.dim = network.encoder().dim(), model.depth = network.encoder().blocks();
    model.heads = network.encoder().heads();
    model.classes = static_cast<int>(network.info().labels.size());
    return pipeline::costOf(model);
}

}  // namespace

pipeline::ModelCost modelCost(const pipeline::Network& network) {
    if (network.random()) return randomCost(network);
    try {
        pipeline::ModelCost cost =
            pipeline::costFrom(models::inspectModel(network.name()).found, network.info().size);
        cost.mapGiven = network.shares();
        return cost;
    } catch (const models::Refusal& refusal) {
        throw Error(kBadInput, network.name() + ": " + refusal.what());
    }
}

}  // namespace mpm::cli
