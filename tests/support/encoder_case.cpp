#include "support/encoder_case.hpp"

#include <algorithm>
#include <cmath>

#include "support/random.hpp"

namespace mpm::test {
namespace {

class Builder {
public:
    explicit Builder(EncoderCase& target) : m_target(target), m_seed(target.options.seed * 1000) {}

    void matrix(const std::string& name, int rows, int columns) {
        add(name, randomMatrix(rows, columns, ++m_seed, 1.0 / std::sqrt(rows)));
    }
    void vector(const std::string& name, int size, double mean, double deviation) {
        add(name, randomMatrix(1, size, ++m_seed, deviation) + mean);
    }
    void norm(const std::string& name, int size, NormKind kind) {
        vector(name + ".weight", size, 1.0, 0.2);
        if (kind == NormKind::Layer) vector(name + ".bias", size, 0.0, 0.1);
    }
    void linear(const std::string& name, int rows, int columns, bool bias) {
        matrix(name + ".weight", rows, columns);
        if (bias) vector(name + ".bias", columns, 0.0, 0.1);
    }
    void add(const std::string& name, const cv::Mat& value) {
        m_target.ordered.emplace_back(name, value);
        m_target.weights.add(name, value);
    }

private:
    EncoderCase& m_target;
    unsigned m_seed;
};

void addBlock(Builder& build, const EncoderOptions& o, const std::string& prefix) {
    const int dim = o.dim();
    build.norm(prefix + "norm1", dim, o.norm);
    build.linear(prefix + "qkv", dim, 3 * dim, o.qkvBias);
    if (o.qkNorm) {
        build.norm(prefix + "q_norm", o.headSize, o.innerNorm);
        build.norm(prefix + "k_norm", o.headSize, o.innerNorm);
    }
    if (o.attentionNorm) build.norm(prefix + "attn_norm", dim, o.innerNorm);
    build.linear(prefix + "proj", dim, dim, true);
    if (o.layerScale) build.vector(prefix + "ls1", dim, 0.4, 0.2);
    build.norm(prefix + "norm2", dim, o.norm);
    build.linear(prefix + "fc1", dim, o.hidden, true);
    if (o.gated) build.linear(prefix + "gate", dim, o.hidden, true);
    if (o.mlpNorm) build.norm(prefix + "mlp_norm", o.hidden, o.innerNorm);
    build.linear(prefix + "fc2", o.hidden, dim, true);
    if (o.layerScale) build.vector(prefix + "ls2", dim, 0.4, 0.2);
}

void addRotary(Builder& build, const EncoderOptions& o, const std::string& prefix, int positions) {
    const int tables = o.ropePerHead ? o.heads : 1;
    const int sizes[] = {tables, positions, o.headSize};
    cv::Mat cosine(3, sizes, CV_32F), sine(3, sizes, CV_32F);
    for (int h = 0; h < tables; ++h) {
        for (int p = 0; p < positions; ++p) {
            for (int k = 0; k < o.headSize; ++k) {
                const bool interleaved = o.rope == "interleaved";
                const int frequency = interleaved ? k / 2 : k % std::max(1, o.headSize / 2);
                const double angle = (p + 1) / std::pow(10.0, 2.0 * frequency / o.headSize) * (1 + 0.3 * h);
                cosine.at<float>(h, p, k) = static_cast<float>(std::cos(angle));
                sine.at<float>(h, p, k) = static_cast<float>(std::sin(angle));
            }
        }
    }
    if (!o.ropePerHead) {
        cosine = cosine.reshape(1, positions);
        sine = sine.reshape(1, positions);
    }
    build.add(prefix + "rope.cos", cosine);
    build.add(prefix + "rope.sin", sine);
}

}  // namespace

int EncoderOptions::specialRows() const {
    if (window.empty()) return special;
    const auto along = [](int side, int of) { return (side + of - 1) / of; };
    return special * along(grid.height, window.height) * along(grid.width, window.width);
}

EncoderCase makeEncoder(const EncoderOptions& o) {
    EncoderCase made;
    made.options = o;
    EncoderConfig& config = made.config;
    config.blocks = o.blocks;
    config.firstBlock = o.firstBlock;
    config.heads = o.heads;
    config.specialTokens = o.special;
    config.trailingTokens = o.trailing;
    config.grid = o.grid, config.window = o.window;
    config.padding = o.padding, config.globalBlocks = o.globalBlocks;
    config.takesMap = o.map;
    config.mapOutput = o.mapOutput;
    config.chain = o.chain;
    config.chainBlocks = o.chainBlocks;
    config.schedule = o.schedule;
    if (!o.method.empty()) config.method = o.method;
    config.taps = o.taps.empty() ? std::vector<int>{config.lastBlock()} : o.taps;
    config.tapNorm = o.tapNorm.empty() ? std::vector<int>(config.taps.size(), o.finalNorm) : o.tapNorm;
    config.activation = activationFrom(o.activation);
    config.scale = o.scale;
    config.norm.kind = config.finalNorm.kind = o.norm;
    config.innerNorm.kind = o.innerNorm;
    config.parallel = o.parallel;
    config.rotary = o.rope == "half" ? Rotary::Halves : Rotary::Interleaved;
    Builder build(made);
    for (int b = 0; b < o.blocks; ++b)
        addBlock(build, o, std::to_string(o.firstBlock + b) + ".");
    if (!o.rope.empty()) addRotary(build, o, "", o.ropeOfWindow ? o.window.area() : o.imageTokens);
    for (size_t g = 0; g < o.globalBlocks.size() && o.ropeOfWindow; ++g)
        addRotary(build, o, std::to_string(o.globalBlocks[g]) + ".", o.imageTokens);
    if (o.finalNorm) build.norm("norm", o.dim(), o.norm);
    return made;
}

std::vector<EncoderCase> cutEncoder(const EncoderCase& whole, const std::vector<int>& cuts) {
    std::vector<EncoderCase> segments;
    const int end = whole.config.lastBlock() + 1;
    for (size_t s = 0; s <= cuts.size(); ++s) {
        const int first = s == 0 ? 0 : cuts[s - 1], next = s == cuts.size() ? end : cuts[s];
        const bool last = next == end;
        EncoderCase segment;
        EncoderOptions& o = segment.options = whole.options;
        o.firstBlock = first, o.blocks = next - first;
        o.chainBlocks = whole.options.blocks;
        o.map = s > 0, o.mapOutput = !last;
        o.finalNorm = last && o.finalNorm;
        EncoderConfig& config = segment.config = whole.config;
        config.firstBlock = o.firstBlock, config.blocks = o.blocks, config.chainBlocks = o.chainBlocks;
        config.takesMap = o.map, config.mapOutput = o.mapOutput;
        config.taps = {next - 1};
        config.tapNorm = {last ? whole.config.tapNorm.back() : 0};
        o.taps = config.taps, o.tapNorm = config.tapNorm;
        for (const auto& [name, value] : whole.ordered) {
            const bool ofBlock = name.find_first_not_of("0123456789") != 0;
            const int block = ofBlock ? std::stoi(name) : -1;
            const bool mine = ofBlock ? block >= first && block < next : name.rfind("rope", 0) == 0 || last;
            if (!mine) continue;
            segment.ordered.emplace_back(name, value);
            segment.weights.add(name, value);
        }
        segments.push_back(std::move(segment));
    }
    return segments;
}

cv::Mat makeBatch(const EncoderOptions& o, int images, int tokens, unsigned seed) {
    const int sizes[] = {images, o.specialRows() + tokens + o.trailing, o.dim()};
    cv::Mat batch(3, sizes, CV_32F);
    for (int i = 0; i < images; ++i) {
        const cv::Mat image = randomTokens(sizes[1], sizes[2], seed + 31 * i, 0.5 + i);
        std::memcpy(batch.ptr<float>(i), image.data, image.total() * image.elemSize());
    }
    return batch;
}

cv::Mat imageOf(const cv::Mat& batch, int image) {
    return cv::Mat(batch.size[1], batch.size[2], CV_32F, const_cast<float*>(batch.ptr<float>(image))).clone();
}

cv::Mat batchOfOne(const cv::Mat& batch, int image) {
    const int sizes[] = {1, batch.size[1], batch.size[2]};
    return imageOf(batch, image).reshape(1, 3, sizes);
}

Ran runEncoder(const EncoderCase& encoder, const SessionInput& input, const ChangeSettings& change) {
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    control->change(change);
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    Ran ran;
    ran.outputs.resize(encoder.config.taps.size());
    for (cv::Mat& out : ran.outputs)
        out.create(input.tokens.dims, input.tokens.size.p, CV_32F);
    runner.run(input, ran.outputs);
    ran.report = control->report();
    return ran;
}

ChainRun::ChainRun(const EncoderCase& whole, const std::vector<int>& cuts, const ChangeSettings& change)
    : m_segments(cutEncoder(whole, cuts)) {
    const ReadingNetwork reading;
    for (const EncoderCase& segment : m_segments) {
        const auto place = std::make_shared<NetworkPlace>();
        m_control = place->join(segment.config);
        m_runners.push_back(std::make_unique<EncoderRunner>(m_control, segment.config, place));
        m_runners.back()->setWeights(segment.weights);
    }
    m_control->change(change);
}

cv::Mat ChainRun::forward(const cv::Mat& batch, const std::map<int, cv::Mat>& injected,
                          const cv::Mat& keyBias) {
    SessionInput input;
    input.tokens = batch.clone();
    input.keyBias = keyBias;
    for (size_t s = 0; s < m_segments.size(); ++s) {
        const auto addend = injected.find(m_segments[s].config.firstBlock);
        if (addend != injected.end()) input.tokens += addend->second;
        std::vector<cv::Mat> out(1);
        out[0].create(batch.dims, batch.size.p, CV_32F);
        const std::vector<cv::Mat> maps = m_runners[s]->run(input, out);
        input.tokens = out[0];
        input.maps.clear();
        for (const cv::Mat& map : maps)
            input.maps.push_back(toMergeMap(map, "the map between two segments"));
    }
    return input.tokens;
}

}  // namespace mpm::test
