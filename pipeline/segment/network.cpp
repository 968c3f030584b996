#include "pipeline/segment/network.hpp"

#include <algorithm>

#include <opencv2/core/utility.hpp>

#include <mpm/read_net.hpp>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "mpm_layer/dnn/opencv.hpp"
#include "pipeline/segment/model_file.hpp"

namespace mpm::pipeline {

namespace {

/// Returns the last line of the importer's message, because earlier lines only name places in OpenCV's
/// source.
std::string reasonOf(const cv::Exception& error) {
    constexpr size_t kMost = 120;
    std::string line;
    for (size_t from = 0; from < error.err.size();) {
        const size_t end = std::min(error.err.find('\n', from), error.err.size());
        if (error.err.find_first_not_of(" >\t", from) < end) line = error.err.substr(from, end - from);
        from = end + 1;
    }
    line.erase(0, line.find_first_not_of(" >\t"));
    if (const size_t place = line.find("error: ("); place != std::string::npos) line.erase(0, place + 7);
    return line.size() > kMost ? line.substr(0, kMost) + "..." : line;
}

cv::dnn::Net readNet(const std::string& path) {
    try {
        return mpm::readNet(path);
    } catch (const cv::Exception& error) {
        throw ModelError(path + ": not converted yet, or damaged; convert it first: mpm convert " + path +
                         " OUT.onnx (OpenCV " + cv::getVersionString() + ": " + reasonOf(error) + ")");
    }
}

template <typename Read>
auto readMetadata(const std::string& path, const Read& read) {
    try {
        return read(path);
    } catch (const cv::Exception& error) {
        // Removes "mpm: " and the path from the beginning, because the new message has the path too.
        std::string said = error.err;
        for (const std::string& known : {std::string("mpm: "), path + " is ", path + ": "})
            if (said.rfind(known, 0) == 0) said.erase(0, known.size());
        throw ModelError(path + ": not an ONNX model that can be read (" + said + "); name another file");
    }
}

/// Reshapes labels without a channel axis, [B, H, W], to [B, 1, H, W].
cv::Mat withChannels(const cv::Mat& output, const cv::Mat& blob) {
    if (output.dims != 3 || output.size[1] != blob.size[2] || output.size[2] != blob.size[3]) return output;
    const int shape[] = {output.size[0], 1, output.size[1], output.size[2]};
    return output.reshape(1, 4, shape);
}

mpm::Encoder findEncoder(cv::dnn::Net& net, const std::string& name) {
    try {
        return mpm::encoder(net);
    } catch (const cv::Exception&) {
        throw ModelError(name + ": no ViT encoder of ours in it; convert the model first: mpm convert " +
                         name + " OUT.onnx");
    }
}

}  // namespace

Network::Network(cv::dnn::Net net, mpm::ModelInfo info, mpm::Reuse reuse, std::string name, bool random)
    : m_net(std::move(net)),
      m_encoder(findEncoder(m_net, name)),
      m_sharing(mpm::sharing(m_net)),
      m_sharedOfFile(m_sharing ? m_sharing->shared() : 0),
      m_info(std::move(info)),
      m_reuse(reuse),
      m_name(std::move(name)),
      m_random(random) {}

/// Rejects a size with too many pixels, which is a mistake or an attack. All patches attend to each other, so
/// the network would take far too much time and memory.
static void checkInputSize(const std::string& path, cv::Size size) {
    constexpr std::int64_t kMostPixels = 4096 * 4096;
    std::int64_t pixels = 0;
    if (size.width > 0 && size.height > 0 && productFits(pixels, size.width, size.height) &&
        pixels <= kMostPixels)
        return;
    throw ModelError(path + ": made for images of " + std::to_string(size.height) + "x" +
                     std::to_string(size.width) + "; models of at most 4096x4096 pixels can be run");
}

Network::Network(const std::string& model, cv::Size size)
    : Network([&] {
          const std::string path = findModel(model);
          // Reads the metadata first, because readNet() gives unclear messages about a damaged file.
          mpm::ModelInfo info = readMetadata(path, mpm::modelInfo);
          const mpm::Reuse reuse = readMetadata(path, mpm::reuseOf);
          if (info.size.empty()) info.size = size;
          if (info.size.empty())
              throw ModelError(path + ": the model leaves its input size open; give one with --size HxW");
          checkInputSize(path, info.size);
          if (!size.empty() && size != info.size)
              throw ModelError(path + ": made for " + std::to_string(info.size.height) + "x" +
                               std::to_string(info.size.width) + ", not " + std::to_string(size.height) +
                               "x" + std::to_string(size.width) +
                               "; for another size convert it with --size");
          return Network(readNet(path), std::move(info), reuse, path, false);
      }()) {
    m_batch = readMetadata(m_name, mpm::batchOf);
}

Network::Network(const RandomModel& model)
    : Network(makeRandomNet(model), randomModelInfo(model), {}, "random weights", true) {}

cv::Mat Network::blob(const std::vector<cv::Mat>& images) const {
    CV_Check(images.size(), !images.empty(), "images: expected at least one");
    if (images.size() == 1) return mpm::blobFromImage(images.front(), m_info);
    cv::Mat batch;
    for (size_t i = 0; i < images.size(); ++i) {
        const cv::Mat one = mpm::blobFromImage(images[i], m_info);
        if (i == 0) {
            const int shape[] = {static_cast<int>(images.size()), one.size[1], one.size[2], one.size[3]};
            batch.create(4, shape, CV_32F);
        }
        std::copy(one.ptr<float>(), one.ptr<float>() + one.total(), batch.ptr<float>(static_cast<int>(i)));
    }
    return batch;
}

// Returns whether the outputs are masks [B, Q, h, w] and classes [B, Q, C] with the same number Q of queries.
static bool areQueries(const std::vector<cv::Mat>& outputs) {
    for (const cv::Mat& masks : outputs)
        for (const cv::Mat& classes : outputs)
            if (masks.dims == 4 && classes.dims == 3 && masks.size[1] > 1 && masks.size[1] == classes.size[1])
                return true;
    return false;
}

// Runs the network. If there are several outputs, the first call to run() chooses the output that all calls
// return: the output with labels, or the last output if no output has labels. If useFeatures() found features
// only in the encoder's tokens, returns these tokens instead.
cv::Mat Network::run() {
    if (m_usesTokens) {
        m_net.forward();
        return m_encoder.output();
    }
    if (m_decided || !m_output.empty()) return m_output.empty() ? m_net.forward() : m_net.forward(m_output);
    m_decided = true;
    const std::vector<cv::String> names = m_net.getUnconnectedOutLayersNames();
    if (names.size() < 2) return m_net.forward();
    std::vector<cv::Mat> outputs;
    m_net.forward(outputs, names);
    for (size_t k = 0; k < outputs.size(); ++k) {
        if (kindOf(outputs[k]) != OutputKind::Labels) continue;
        m_output = names[k];
        return outputs[k];
    }
    m_queries = areQueries(outputs);
    return m_net.forward();
}

OutputFacts Network::outputFacts() const {
    const mpm::Report report = m_encoder.report();
    const int tokens = report.images.empty() ? 0 : static_cast<int>(report.images.front().map.total());
    return {tokens, m_encoder.specialTokens(), m_encoder.dim(), !m_info.labels.empty()};
}

OutputKind Network::kindOf(const cv::Mat& output) const {
    if (m_queries && m_output.empty() && !m_usesTokens) return OutputKind::Unknown;
    return outputKind(output, outputFacts());
}

bool Network::useFeatures(const cv::Mat& blob) {
    std::vector<cv::String> candidates;
    if (!m_queries) candidates = m_net.getUnconnectedOutLayersNames();
    const std::string before = m_output;
    for (const cv::String& name : candidates) {
        m_output = name;
        try {
            if (kindOf(forward(blob)) == OutputKind::Features) return true;
        } catch (const cv::Exception&) {
            continue;  // the engine cannot return this output alone
        }
    }
    m_output = before;
    m_usesTokens = true;
    m_encoder.keepOutput(true);
    if (kindOf(forward(blob)) == OutputKind::Features) return true;
    m_usesTokens = false;
    m_encoder.keepOutput(false);
    return false;
}

void Network::setInputs(const cv::Mat& blob, const std::vector<cv::Size>& images) {
    const bool takesSize = detects() && !m_info.detections->sizeInput.empty();
    // OpenCV 5's engine requires a name if there are several inputs.
    const std::string input = takesSize ? m_info.input : "";
    dnn::resetSizes(m_net, blob, input);
    m_net.setInput(blob, input);
    if (!takesSize) return;
    cv::Mat sides(blob.size[0], 2, CV_32F);
    for (int i = 0; i < sides.rows; ++i) {
        const cv::Size size = i < static_cast<int>(images.size()) ? images[i] : m_info.size;
        const bool widthFirst = m_info.detections->sizeOrder == SizeOrder::Wh;
        sides.at<float>(i, 0) = static_cast<float>(widthFirst ? size.width : size.height);
        sides.at<float>(i, 1) = static_cast<float>(widthFirst ? size.height : size.width);
    }
    if (m_info.detections->sizeIsInt64) sides.convertTo(sides, dnn::kInteger);
    m_net.setInput(sides, m_info.detections->sizeInput);
}

/// Calls `run`. If `run` fails, throws an exception that names the model and the remedy.
template <class Run>
auto Network::withAdvice(const cv::Mat& blob, const Run& run) {
    try {
        return run();
    } catch (const cv::Exception& error) {
        if (error.err.rfind("mpm:", 0) == 0) throw;  // a message of this library already names the fault
        const std::string batch = std::to_string(blob.size[0]), own = std::to_string(m_batch);
        std::string advice = "convert its original export again";
        if (m_batch != blob.size[0]) advice = "convert its original export with --batch " + batch;
        if (m_batch > 0 && m_batch != blob.size[0])
            advice = "its batch is fixed at " + own + ": use " + own + ", or " + advice;
        throw cv::Exception(error.code,
                            m_name + ": cannot run with batch " + batch + " (" + error.err + "); " + advice,
                            "forward", __FILE__, __LINE__);
    }
}

cv::Mat Network::forward(const cv::Mat& blob) {
    return withAdvice(blob, [&] {
        setInputs(blob, {});
        return withChannels(run(), blob);
    });
}

std::vector<std::string> Network::detectorOutputs() const {
    std::vector<std::string> names = {m_info.detections->boxes, m_info.detections->scores};
    for (const std::string& name : {m_info.detections->labels, m_info.detections->masks})
        if (!name.empty()) names.push_back(name);
    return names;
}

std::vector<cv::Mat> Network::forwardDetector(const cv::Mat& blob, const std::vector<cv::Size>& images) {
    const std::vector<cv::String> there = m_net.getUnconnectedOutLayersNames();
    const std::vector<std::string> names = detectorOutputs();
    for (const std::string& name : names)
        if (std::count(there.begin(), there.end(), name) == 0)
            throw ModelError("its metadata mpm.detections names the output \"" + printable(name, 60) +
                             "\", which the model does not have; convert it again with --detections");
    return withAdvice(blob, [&] {
        setInputs(blob, images);
        std::vector<cv::Mat> all, outputs;
        m_net.forward(all, there);  // OpenCV 5's engine requires the names of all outputs
        for (const std::string& name : names)
            outputs.push_back(all[std::find(there.begin(), there.end(), name) - there.begin()]);
        return outputs;
    });
}

}  // namespace mpm::pipeline
