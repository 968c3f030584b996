#include "mpm_layer/cuda/loader/cuda_session.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/loops.hpp"

namespace mpm::cuda {
namespace {

MpmCudaOptions optionsOf(const EncoderConfig& config) {
    MpmCudaOptions options{};
    options.special_tokens = config.specialTokens;
    options.activation = static_cast<int32_t>(config.activation);
    options.rotary_halves = config.rotary == Rotary::Halves;
    options.parallel = config.parallel;
    const auto plain = [](const NormRule& rule) {
        return MpmCudaNormRule{rule.epsilon, static_cast<int32_t>(rule.kind)};
    };
    options.norm = plain(config.norm);
    options.inner_norm = plain(config.innerNorm);
    options.final_norm = plain(config.finalNorm);
    return options;
}

// Returns the index in `names` of an environment variable's value, or `otherwise` if the variable is not set.
int32_t chosen(const char* variable, const std::vector<std::string>& names, int32_t otherwise) {
    const char* value = std::getenv(variable);
    if (!value || !*value) return otherwise;
    const auto found = std::find(names.begin(), names.end(), value);
    if (found != names.end()) return static_cast<int32_t>(found - names.begin());
    std::string known = names.front();
    for (size_t i = 1; i < names.size(); ++i)
        known += (i + 1 < names.size() ? ", " : " or ") + names[i];
    CV_Error(cv::Error::StsBadArg,
             std::string("mpm: ") + variable + " is '" + value + "'; expected " + known);
}

struct ReadBack {
    std::vector<float> rows, keys, sizes;
};

// Returns data() or, if `values` is empty, a valid address: data() could then be null, which the C interface
// treats as a missing argument.
template <class T>
T* memoryOf(std::vector<T>& values) {
    static T none;
    return values.empty() ? &none : values.data();
}

}  // namespace

void onThreads(int32_t count, void (*body)(void*, int32_t), void* argument) {
    parallelFor(count, [&](int i) { body(argument, i); });
}

int32_t chosenNearest() {
    return chosen("MPM_CUDA_NEAREST", {"plain", "tensor"}, MPM_CUDA_NEAREST_TENSOR);
}

CudaSession::CudaSession(const EncoderConfig& config, std::shared_ptr<const CudaEncoder> weights,
                         const SessionInput& input)
    : m_config(config),
      m_weights(std::move(weights)),
      m_images(input.tokens.size[0]),
      m_inputTokens(input.tokens.size[1] - config.specialTokens),
      m_onDevice(input.onDevice),
      m_composed(m_images, identityMap(m_inputTokens)) {
    for (int positions : m_weights->rotaryPositions())
        checkRotary(positions, m_inputTokens);
    const cv::Mat tokens = input.tokens.isContinuous() ? input.tokens : input.tokens.clone();
    const cv::Mat bias =
        input.keyBias.empty() || input.keyBias.isContinuous() ? input.keyBias : input.keyBias.clone();
    MpmCudaInput plain{};
    plain.options = optionsOf(config);
    plain.tokens = tokens.ptr<float>();
    plain.images = m_images;
    plain.rows_per_image = tokens.size[1];
    plain.key_bias = bias.empty() ? nullptr : bias.ptr<float>();
    plain.key_bias_images =
        bias.empty() || bias.total() == static_cast<size_t>(tokens.size[1]) ? 1 : m_images;
    plain.proportional = input.reducer && input.reducer->biasesBySize();
    plain.tokens_on_device = m_onDevice;
    plain.stream = input.stream;
    plain.read_counts = 1;
    plain.fixed_kernels = input.batchIndependent;
    plain.graphs = chosen("MPM_CUDA_GRAPHS", {"never", "always", "auto"}, MPM_CUDA_GRAPHS_AUTO);
    plain.nearest = chosenNearest();
    plain.parallel = onThreads;
    call(entry().begin, m_weights->handle(), &plain, &m_handle);
}

void CudaSession::enter(const std::vector<MergeMap>& maps) {
    m_blockOfStage.push_back(m_config.firstBlock);
    apply(maps, MpmCudaStage{});
}

CudaSession::~CudaSession() {
    entry().end(m_handle);
}

void CudaSession::attend(int block) {
    call(entry().attend, m_handle, block);
}

void CudaSession::runMlp(int block) {
    call(entry().run_mlp, m_handle, block);
}

void CudaSession::emit(bool norm, cv::Mat& output) {
    call(entry().emit, m_handle, norm, output.ptr<float>(), m_onDevice);
}

void CudaSession::finish() {
    call(entry().finish, m_handle, &m_times);
}

void CudaSession::reduce(const StageRequest& request) {
    MpmCudaStage stage{};
    stage.mean = static_cast<int32_t>(request.reducer->mean());
    m_blockOfStage.push_back(request.block);
    if (request.imposed) {
        apply(request.imposedMaps(m_images), stage);
    } else if (!request.reducer->isMutualPairs()) {
        apply(decideOnCpu(request), stage);
    } else {
        m_composed.clear();
        call(entry().reduce, m_handle, &stage);
    }
}

std::vector<int> CudaSession::presentTokens() {
    std::vector<int> tokens(m_images);
    if (m_composed.empty()) {
        call(entry().read_counts, m_handle, tokens.data());
    } else {
        std::transform(m_composed.begin(), m_composed.end(), tokens.begin(),
                       [](const MergeMap& map) { return map.clusters; });
    }
    return tokens;
}

bool CudaSession::readsKeys(const StageRequest& request) const {
    const Reducer& reducer = *request.reducer;
    const bool attended = reducer.moment() == Moment::AfterAttention;
    if (attended && reducer.metric() == Metric::Keys) return true;
    const int block = request.block - m_config.firstBlock - (attended ? 0 : 1);
    if (reducer.metric() != Metric::LastKeys || block < 0) return false;
    if (m_weights->rotaryPositions()[block] == 0) return true;
    CV_Error(cv::Error::StsNotImplemented,
             "mpm: by=last-keys and before=mlp with rotary positions run on the CPU only; use "
             "by=keys,before=block, "
             "or device cpu");
}

// Downloads the rows and runs the reducer, which has no GPU kernels, on the CPU. The caller must upload the
// maps.
std::vector<MergeMap> CudaSession::decideOnCpu(const StageRequest& request) {
    const int dim = m_weights->dim(), headSize = m_weights->headSize();
    const bool readsKeys = this->readsKeys(request);
    const bool wantsKeys = request.reducer->metric() != Metric::Tokens;
    const std::vector<int> tokens = presentTokens();
    const size_t total = std::accumulate(tokens.begin(), tokens.end(), size_t{0});
    ReadBack read{std::vector<float>(total * dim), std::vector<float>(wantsKeys ? total * headSize : 0),
                  std::vector<float>(total)};
    call(entry().read_rows, m_handle, read.rows.data(), readsKeys ? read.keys.data() : nullptr,
         read.sizes.data());
    std::vector<StageContext> contexts(m_images);
    size_t first = 0;
    for (int i = 0; i < m_images; ++i) {
        StageContext& context = contexts[i];
        context.tokens = {read.rows.data() + first * dim, static_cast<size_t>(dim), tokens[i], dim};
        context.metric = wantsKeys ? RowsView{read.keys.data() + first * headSize,
                                              static_cast<size_t>(headSize), tokens[i], headSize}
                                   : context.tokens;
        if (wantsKeys && !readsKeys)
            m_weights->stageKeys()[request.block - m_config.firstBlock].compute(
                context.tokens, read.keys.data() + first * headSize);
        context.sizes = read.sizes.data() + first;
        context.grid = m_config.grid;
        context.composed = &m_composed[i];
        context.special = m_config.specialTokens;
        context.blocks = m_config.blocksOfChain();
        context.stage = request.stage;
        context.block = request.block;
        first += tokens[i];
    }
    return request.reducer->reduce(contexts);
}

void CudaSession::apply(const std::vector<MergeMap>& maps, const MpmCudaStage& stage) {
    const std::vector<int> tokens = presentTokens();
    std::vector<int32_t> ids, clusters;
    for (int i = 0; i < m_images; ++i) {
        if (maps[i].tokens() != tokens[i]) {
            CV_Error(cv::Error::StsUnmatchedSizes,
                     cv::format("mpm: a map of %d tokens does not fit image %d, which has %d",
                                maps[i].tokens(), i, tokens[i]));
        }
        ids.insert(ids.end(), maps[i].ids.begin(), maps[i].ids.end());
        clusters.push_back(maps[i].clusters);
        if (!m_composed.empty()) m_composed[i] = compose(m_composed[i], maps[i]);
    }
    MpmCudaStage imposed = stage;
    imposed.ids = memoryOf(ids);
    imposed.clusters = clusters.data();
    call(entry().reduce, m_handle, &imposed);
}

std::vector<ImageReport> CudaSession::takeReport() {
    std::vector<ImageReport> reports(m_images);
    for (int i = 0; i < m_images; ++i) {
        MergeMap composed = identityMap(m_inputTokens);
        for (size_t s = 0; s < m_blockOfStage.size(); ++s) {
            MergeMap map;
            map.ids.resize(composed.clusters);
            const auto stage = static_cast<int32_t>(s);
            call(entry().stage_tokens, m_handle, stage, i, &map.clusters);
            call(entry().stage_map, m_handle, stage, i, memoryOf(map.ids));
            reports[i].stages.push_back({m_blockOfStage[s], toMat(map), map.clusters});
            composed = compose(composed, map);
        }
        reports[i].map = toMat(composed);
    }
    return reports;
}

}  // namespace mpm::cuda
