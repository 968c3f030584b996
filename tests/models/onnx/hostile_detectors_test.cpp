// Harmful files of detectors: the converter must reject each with a reason, or convert it into a network with
// the same results.
#include <cmath>
#include <limits>

#include "converted_export.hpp"
#include "models/onnx/verify/prove.hpp"
#include "support/npy.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

constexpr int64_t kDim = SmallExport::kDim, kHuge = int64_t{1} << 31, kLargest = int64_t{1} << 62;
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Detector {
    List<int64_t> window{2, 3, 2, 4};  // rows of windows, rows in a window, then the same for columns
    int64_t k = 7;
    int64_t copies = 1;  // number of copies of the 48 places
    float score = 0, box = 0;
    Shape size;  // shape of a second input
    std::string detections;
};

class HostileDetectors : public testing::Test {
protected:
    static void write(const Detector& d, const std::string& path) {
        SmallExport m{1};
        GraphBuilder& g = m.builder();
        const int size = d.size.empty() ? 0 : g.input("orig_target_sizes", d.size);
        const auto linear = [&](int x, int64_t width, float offset) {
            const int y = g.node("Add", {m.linear(x, kDim, static_cast<int>(width)), g.number(offset)});
            return d.copies == 1 ? y : g.node("Tile", {y, g.ints({1, d.copies, 1})});
        };
        int x = m.withoutFirst(m.block(m.embed()));
        List<int64_t> split = d.window;
        split.push_back(kDim);
        x = transposed(g, g.node("Reshape", {x, g.ints(split)}), {0, 2, 1, 3, 4});
        x = transposed(g, g.node("Reshape", {x, g.ints({2, 2, 3, 4, kDim})}), {0, 2, 1, 3, 4});
        x = g.node("Reshape", {x, g.ints({1, 48, kDim})});
        const int scores = linear(x, 5, d.score);
        const int most = g.node("ReduceMax", {scores});
        g.with("axes", Attribute::of(List<int64_t>{-1})).with("keepdims", Attribute::of(int64_t{0}));
        g.node("TopK", {most, g.ints({d.k})});
        const int best = g.node("Unsqueeze", {g.outputOf(1), g.ints({-1})});
        const auto picked = [&](int from, int64_t width) {
            const int y = g.node("GatherElements", {from, g.node("Expand", {best, g.ints({1, 1, width})})});
            g.with("axis", Attribute::of(int64_t{1}));
            return y;
        };
        int boxes = picked(linear(x, 4, d.box), 4);
        if (!d.size.empty()) {
            const int twice = g.node("Tile", {size, g.ints({1, 2})});
            boxes = g.node("Mul", {boxes, g.node("Reshape", {twice, g.ints({1, 1, 4})})});
        }
        g.output(boxes, "dets", {1, d.k, 4});
        g.output(picked(scores, 5), "labels", {1, d.k, 5});
        models::writeModel(m.graph(), path);
    }

    // Returns the reason for the rejection; empty if the file is converted.
    std::string refusal(const Detector& detector, double seconds = 0) const {
        write(detector, m_folder / "in.onnx");
        models::ConvertOptions options = unmerged();
        options.detections = detector.detections;
        options.maxSeconds = seconds;
        try {
            models::convertModel(m_folder / "in.onnx", m_folder / "out.onnx", options);
            return {};
        } catch (const cv::Exception& e) {
            return e.err;
        } catch (const std::exception& e) {  // a Refusal or a BudgetError
            return e.what();
        }
    }

    const TempFolder m_folder;
};

TEST_F(HostileDetectors, AreRejectedWithAReason) {
    std::vector<Detector> all;
    for (const int64_t k : {int64_t{0}, int64_t{-1}, int64_t{49}, kHuge, kLargest})
        all.push_back({}), all.back().k = k;
    for (const int64_t n : {int64_t{0}, int64_t{-3}, int64_t{4}, kHuge, kLargest})
        all.push_back({}), all.back().window = {n, 3, 2, 4};
    for (const Shape& size : {Shape{1, 3}, Shape{3}, Shape{1, 2, 2}, Shape{1, 0}})
        all.push_back({}), all.back().size = size;
    for (const char* lie :
         {R"({"boxes":"dets","scores":"none"})", R"({"boxes":"dets"})",
          R"({"boxes":"labels","scores":"dets"})", R"({"boxes":"dets","scores":"dets","masks":"labels"})",
          R"({"boxes":"dets","scores":"labels","labels":"labels"})",
          R"({"boxes":"dets","scores":"labels","size_input":{"name":"x","order":"wh"}})"})
        all.push_back({}), all.back().detections = lie;
    for (const Detector& detector : all) {
        const std::string reason = refusal(detector);
        EXPECT_GT(reason.size(), 10u)
            << detector.k << " " << detector.window[0] << " " << detector.detections;
        EXPECT_LT(reason.size(), 500u) << reason;
        EXPECT_FALSE(fileExists(m_folder / "out.onnx"));
    }
}

// If results are NaN, they cannot be compared, so the export is rejected. Infinite results can be compared.
TEST_F(HostileDetectors, OfNumbersThatAreNotFinite) {
    for (const bool box : {false, true}) {
        for (const float value : {std::nanf(""), kInf, -kInf}) {
            Detector d;
            (box ? d.box : d.score) = value;
            const std::string reason = refusal(d);
            EXPECT_EQ(reason.empty(), !std::isnan(value)) << reason;
        }
    }
}

// An output has an infinite value. If a finite value differs in the converted model, the proof must still
// fail.
TEST_F(HostileDetectors, AnInfiniteValueDoesNotHideOthers) {
    SmallExport m(1);
    Tensor offset = m.random({1, m.tokens(), kDim}, 1);
    offset.writeF()[0] = kInf;
    const int x = m.block(m.embed());
    m.builder().output(m.builder().node("Add", {x, m.builder().constant(offset)}), "y", offset.shape());
    models::writeModel(m.graph(), m_folder / "in.onnx");
    models::convertModel(m_folder / "in.onnx", m_folder / "out.onnx", unmerged());
    Graph mutant = models::readModel(m_folder / "out.onnx");
    for (models::Value& value : mutant.values) {
        const Tensor& t = value.constant;
        if (!t.known() || !t.isFloat() || t.size() != offset.size() || t.f()[0] != kInf) continue;
        std::vector<float> values = t.toFloats();
        values[1] += 1;
        value.constant = Tensor::floats(t.shape(), values);
    }
    models::writeModel(mutant, m_folder / "mutant.onnx");
    models::Prover prover(m.graph(), "", {{1, 3, 48, 64}}, mutant);
    prover.setReread([&] { return m.graph(); });
    EXPECT_NO_THROW(prover.check(m_folder / "out.onnx", {}));
    EXPECT_THROW(prover.check(m_folder / "mutant.onnx", {}), models::Refusal);
}

// The conversion must end within the allowed time, or be rejected because of a limit.
TEST_F(HostileDetectors, OfAMillionProposals) {
    Detector d;
    d.copies = 1000000 / 48 + 1, d.k = 1000000;
    const std::string reason = refusal(d, 2);
    EXPECT_TRUE(reason.empty() || reason.find("--max-") != std::string::npos) << reason;
}

}  // namespace
