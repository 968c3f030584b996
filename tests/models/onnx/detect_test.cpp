// Converts exports of detectors and of encoders with windows. OpenCV must compute the values in the output
// files, without merging and with the schedules in the file names. Each folder is a case.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>
#include <mpm/read_net.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
namespace fs = std::filesystem;

std::string detectFolder() {
    return test::sharedDir() + "/fixtures/detect";
}

std::vector<std::string> detectNames() {
    std::vector<std::string> names;
    if (fs::is_directory(detectFolder())) {
        for (const auto& entry : fs::directory_iterator(detectFolder()))
            if (test::fileExists(entry.path().string() + "/model.onnx"))
                names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    if (names.empty()) names.push_back("none");
    return names;
}

// Returns the blocks of a prefix such as "s2_5" (of the file "s2_5.boxes.npy").
std::vector<int> blocksOf(const std::string& prefix) {
    std::vector<int> blocks;
    std::istringstream text(prefix.substr(1));
    for (std::string block; std::getline(text, block, '_');)
        blocks.push_back(std::stoi(block));
    return blocks;
}

cv::Mat part(const cv::Mat& batch, int image) {
    std::vector<cv::Range> ranges(batch.dims, cv::Range::all());
    ranges[0] = {image, image + 1};
    return batch(ranges).clone();
}

class DetectExports : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "none") GTEST_SKIP() << detectFolder() << " is not here";
        m_base = detectFolder() + "/" + GetParam() + "/";
        models::ConvertOptions options;
        options.blocks = std::vector<int>{};
        const std::string path = m_scratch / "converted.onnx";
        m_conversion = models::convertModel(m_base + "model.onnx", path, options);
        m_image = test::readNpy(m_base + "input.npy").mat();
        const models::Graph graph = models::readModel(path);
        m_dynamic = graph.inputs[0].dims[0] < 0;
        for (const models::Port& port : graph.outputs)
            m_names.push_back(port.name);
        m_imageName = graph.inputs[0].name;
        if (graph.inputs.size() > 1) m_sizeName = graph.inputs[1].name;
        m_net = readNet(path);
        encoder(m_net).setPrecision(Precision::F32);
        encoder(m_net).setDevice(Device::Cpu);
    }

    std::vector<cv::Mat> run(const std::vector<int>& blocks, const cv::Mat& image) {
        encoder(m_net).setSchedule(blocks);
        m_net.setInput(image, m_imageName);
        if (!m_sizeName.empty()) m_net.setInput(sizes(image.size[0]), m_sizeName);
        std::vector<cv::Mat> outputs;
        m_net.forward(outputs, m_names);
        for (cv::Mat& m : outputs)
            m = m.clone();
        return outputs;
    }

    void expectBits(const std::vector<cv::Mat>& a, const std::vector<cv::Mat>& b) const {
        for (size_t k = 0; k < a.size(); ++k)
            EXPECT_EQ(std::memcmp(a[k].data, b[k].data, b[k].total() * b[k].elemSize()), 0) << m_names[k];
    }

    cv::Mat sizes(int images) const {
        const cv::Mat own = test::readNpy(m_base + "input2.npy").mat();
        cv::Mat integers, given;
        cv::repeat(own, images / own.rows, 1, integers);
#ifdef CV_64S
        integers.convertTo(given, CV_64S);
#else
        integers.convertTo(given, CV_32F);
#endif
        return given;
    }

    // Returns the prefixes of file names that give a schedule, such as "s2_5".
    std::vector<std::string> prefixes() const {
        std::set<std::string> found;
        for (const auto& entry : fs::directory_iterator(m_base)) {
            const std::string name = entry.path().filename().string();
            if (name.size() > 1 && name[0] == 's' && std::isdigit(static_cast<unsigned char>(name[1])))
                found.insert(name.substr(0, name.find('.')));
        }
        return {found.begin(), found.end()};
    }

    void compareOutputs(const std::vector<cv::Mat>& outputs, const std::string& prefix, double bound) const {
        for (size_t k = 0; k < outputs.size(); ++k) {
            const std::string path = m_base + prefix + std::string(m_names[k]) + ".npy";
            const cv::Mat expected = test::readNpy(path).mat().reshape(1, 1),
                          found = outputs[k].reshape(1, 1);
            ASSERT_EQ(found.total(), expected.total()) << path;
            cv::Mat a, b;
            found.convertTo(a, CV_64F);
            expected.convertTo(b, CV_64F);
            EXPECT_LT(cv::norm(a, b, cv::NORM_INF), bound * cv::norm(b, cv::NORM_INF)) << path;
        }
    }

    // Compares the tokens after the block of each tap, without a norm. References with windows have the
    // tokens window by window.
    void compareTaps(const std::string& prefix) {
        models::Graph graph = models::readModel(m_scratch / "converted.onnx");
        std::vector<cv::String> names;
        std::vector<int64_t> window, grid;
        int64_t special = 0;
        for (models::Node& node : graph.nodes) {
            if (node.op != "MpmEncoder") continue;
            window = node.getInts("window");
            grid = node.getInts("grid");
            special = node.getInt("special_tokens", 1);
            node.attributes["tap_norm"] =
                models::Attribute::of(models::List<int64_t>(node.outputs.size(), 0));
            for (const int output : node.outputs) {
                models::Port port;
                port.value = output;
                port.name = "tap" + std::to_string(names.size());
                names.push_back(port.name);
                graph.outputs.push_back(port);
            }
        }
        models::writeModel(graph, m_scratch / "taps.onnx");
        cv::dnn::Net net = readNet(m_scratch / "taps.onnx");
        encoder(net).setPrecision(Precision::F32);
        encoder(net).setSchedule(prefix[0] == 's' ? blocksOf(prefix.substr(0, prefix.find('.')))
                                                  : std::vector<int>{});
        net.setInput(m_image, m_imageName);
        if (!m_sizeName.empty()) net.setInput(sizes(1), m_sizeName);
        // With OpenCV 5's new engine, forward needs the names of all outputs.
        std::vector<cv::String> all = m_names;
        all.insert(all.end(), names.begin(), names.end());
        std::vector<cv::Mat> taps;
        net.forward(taps, all);
        taps.erase(taps.begin(), taps.begin() + static_cast<std::ptrdiff_t>(m_names.size()));
        for (size_t k = 0; k < taps.size(); ++k) {
            const std::string path = m_base + prefix + names[k] + ".npy";
            if (!test::fileExists(path)) continue;
            const cv::Mat expected = test::readNpy(path).mat();
            const int dim = taps[k].size[taps[k].dims - 1];
            const cv::Mat found =
                byWindow(taps[k].reshape(1, static_cast<int>(taps[k].total() / dim)), taps[k].size[0],
                         expected.dims < 3 ? std::vector<int64_t>() : window, grid, special);
            ASSERT_EQ(found.total(), expected.total()) << path;
            EXPECT_LT(cv::norm(found.reshape(1, 1), expected.reshape(1, 1), cv::NORM_INF),
                      1e-5 * cv::norm(expected.reshape(1, 1), cv::NORM_INF))
                << path;
        }
    }

    // The operator's rows are the special tokens of all windows, then the image tokens. Returns the rows
    // sorted by window.
    static cv::Mat byWindow(const cv::Mat& rows, int images, const std::vector<int64_t>& window,
                            const std::vector<int64_t>& grid, int64_t special) {
        if (window.empty()) return rows.clone();
        const int64_t across = grid[1] / window[1], windows = grid[0] / window[0] * across;
        cv::Mat result;
        for (int image = 0; image < images; ++image) {
            const int64_t first = image * (windows * special + grid[0] * grid[1]);
            for (int64_t w = 0; w < windows; ++w) {
                for (int64_t k = 0; k < special; ++k)
                    result.push_back(rows.row(static_cast<int>(first + w * special + k)));
                for (int64_t t = 0; t < window[0] * window[1]; ++t) {
                    const int64_t y = w / across * window[0] + t / window[1],
                                  x = w % across * window[1] + t % window[1];
                    result.push_back(rows.row(static_cast<int>(first + windows * special + y * grid[1] + x)));
                }
            }
        }
        return result;
    }

    // Compares the clusters at each tap. Clusters are numbered by representative.
    void compareMaps(const std::string& prefix) const {
        const Report report = encoder(const_cast<cv::dnn::Net&>(m_net)).report();
        for (size_t tap = 0; tap < m_conversion.taps.size(); ++tap) {
            const std::string path = m_base + prefix + "map" + std::to_string(tap) + ".npy";
            if (!test::fileExists(path)) continue;
            const std::vector<int64_t> expected = test::readNpy(path).integers;
            std::vector<int64_t> found;
            for (const ImageReport& image : report.images) {
                std::vector<int> map(image.map.total());
                for (size_t k = 0; k < map.size(); ++k)
                    map[k] = static_cast<int>(k);
                for (const Stage& stage : image.stages) {
                    if (stage.block > m_conversion.taps[tap]) continue;
                    for (int& id : map)
                        id = stage.map.at<int>(id);
                }
                found.insert(found.end(), map.begin(), map.end());
            }
            EXPECT_EQ(found, expected) << path;
        }
    }

    const test::TempFolder m_scratch;
    std::string m_base, m_imageName, m_sizeName;
    models::Conversion m_conversion;
    cv::dnn::Net m_net;
    cv::Mat m_image;
    std::vector<cv::String> m_names;
    bool m_dynamic = false;
};

TEST_P(DetectExports, ConvertAndAgree) {
    EXPECT_LT(m_conversion.error, 1e-5);
    compareOutputs(run({}, m_image), "", 1e-5);
    compareTaps("none.");
}

TEST_P(DetectExports, MergeAsTheReference) {
    for (const std::string& prefix : prefixes()) {
        // ViTDet has a norm over only eight channels after the taps, so rounding errors are larger here.
        compareOutputs(run(blocksOf(prefix), m_image), prefix + ".", 2e-5);
        compareMaps(prefix + ".");
        compareTaps(prefix + ".");
    }
}

TEST_P(DetectExports, GiveEachImageOfABatchItsOwnResult) {
    if (!m_dynamic) GTEST_SKIP() << "has a fixed batch";
    const std::vector<cv::Mat> both = run({2, 5}, m_image);
    for (int image = 0; image < m_image.size[0]; ++image) {
        const std::vector<cv::Mat> one = run({2, 5}, part(m_image, image));
        for (size_t k = 0; k < one.size(); ++k)
            EXPECT_EQ(cv::norm(one[k].reshape(1, 1), part(both[k], image).reshape(1, 1), cv::NORM_INF), 0)
                << m_names[k];
    }
}

// The export takes one image. With `--batch`, constants in the graph must change.
TEST_P(DetectExports, ConvertForMoreImages) {
    if (m_dynamic || m_image.size[0] != 1) GTEST_SKIP() << "is not of one image";
    models::ConvertOptions options;
    options.batch = 3;
    const models::Conversion conversion =
        models::convertModel(m_base + "model.onnx", m_scratch / "three.onnx", options);
    EXPECT_EQ(conversion.batch, 3);
    EXPECT_EQ(conversion.proof.find("own size"), std::string::npos) << conversion.proof;
    std::vector<cv::Mat> images{m_image, cv::Mat(), m_image * -0.5f};
    cv::flip(m_image.reshape(1, 1), images[1], 1);
    std::vector<int> shape(m_image.size.p, m_image.size.p + m_image.dims);
    std::vector<std::vector<cv::Mat>> singles;
    cv::Mat all;
    for (cv::Mat& image : images) {
        all.push_back(image.reshape(1, 1));
        image = image.reshape(1, shape);
        singles.push_back(run({2, 5}, image));
    }
    shape[0] = 3;
    m_net = readNet(m_scratch / "three.onnx");
    encoder(m_net).setPrecision(Precision::F32);
    encoder(m_net).setDevice(Device::Cpu);
    encoder(m_net).setMethod("mpm");
    const std::vector<cv::Mat> together = run({2, 5}, all.reshape(1, shape));
    for (size_t image = 0; image < images.size(); ++image)
        for (size_t k = 0; k < together.size(); ++k)
            EXPECT_EQ(cv::norm(singles[image][k].reshape(1, 1),
                               part(together[k], static_cast<int>(image)).reshape(1, 1), cv::NORM_INF),
                      0)
                << m_names[k];
}

// After a few different frames, all frames are the same. Boxes, scores, masks and all other outputs must then
// become those of a full forward.
TEST_P(DetectExports, ReuseEndsAtTheOutputsOfAFullForward) {
    Reuse reuse;
    reuse.exact = true, reuse.full = 0.6, reuse.refresh = 3;
    int blocks = m_conversion.blocks;
    for (const models::DecoderCost& decoder : m_conversion.decoders)
        blocks += static_cast<int>(decoder.mlpWeights.size());
    std::vector<cv::Mat> frames{m_image};
    for (int f = 0; f < 4; ++f) {
        frames.push_back(frames.back().clone());
        const int x = m_image.size[3] / 7 * f;
        for (int k = 0; k < 5; ++k)
            frames.back().ptr<float>(0, k % m_image.size[1], 2 * f + k)[x + k] += 0.5f;
    }
    const std::vector<cv::Mat> first = run({}, frames.front()), last = run({}, frames.back());
    std::vector<std::vector<cv::Mat>> seen;
    const int threads = cv::getNumThreads();
    for (const int count : {1, 3}) {
        cv::setNumThreads(count);
        encoder(m_net).setReuse(reuse);
        for (size_t f = 0; f < frames.size(); ++f) {
            const std::vector<cv::Mat> now = run({2}, frames[f]);
            const ReuseState state = encoder(m_net).report().images[0].reuse.state;
            EXPECT_EQ(state, f == 0 ? ReuseState::Full : ReuseState::Partial) << f;
            if (f == 0) expectBits(now, first);
            if (count == 1) seen.push_back(now);
            expectBits(now, seen[f]);
        }
        std::vector<cv::Mat> still;
        for (int f = 0; f < (blocks + 1) * reuse.refresh; ++f)
            still = run({2}, frames.back());
        expectBits(still, last);
        encoder(m_net).setReuse(std::nullopt);
        run({}, frames.back());
    }
    cv::setNumThreads(threads);
}

INSTANTIATE_TEST_SUITE_P(Made, DetectExports, testing::ValuesIn(detectNames()),
                         [](const auto& model) { return model.param; });

}  // namespace
