#include "cli/common/model_cost.hpp"

#include "cli/common/error.hpp"
#include "models/onnx/inspect.hpp"

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

pipeline::DecoderCost decoderOf(const models::DecoderCost& found, double imageTokens, double larger) {
    pipeline::DecoderCost cost;
    // One on another grid than the backbone's does not follow it.
    cost.tokens = found.rows < imageTokens ? 0 : larger * imageTokens;
    cost.others = found.rows < imageTokens ? larger * found.rows : found.rows - imageTokens;
    cost.width = found.width;
    cost.attentionWeights = found.attentionWeights;
    cost.mlpWeights = found.mlpWeights;
    return cost;
}

}  // namespace

pipeline::ModelCost modelCost(const pipeline::Network& network) {
    if (network.random()) return randomCost(network);
    try {
        const models::Conversion found = models::inspectModel(network.name()).found;
        pipeline::ModelCost cost;
        cost.attentionWeights = found.attentionWeights;
        cost.mlpWeights = found.mlpWeights;
        cost.width = found.dim, cost.attentionWidth = found.attentionWidth, cost.heads = found.heads;
        cost.otherTokens = found.otherTokens;
        // A model that leaves its size open was counted at a size of the reader's choice.
        const double pixels = found.size.area() > 0 ? found.size.area() : 1;
        const double larger = network.info().size.area() / pixels;
        cost.around = found.gflopsAround * 1e9 * larger;
        for (const models::DecoderCost& decoder : found.decoders)
            cost.decoders.push_back(decoderOf(decoder, found.imageTokens, larger));
        return cost;
    } catch (const models::Refusal& refusal) {
        throw Error(kBadInput, network.name() + ": " + refusal.what());
    }
}

}  // namespace mpm::cli
