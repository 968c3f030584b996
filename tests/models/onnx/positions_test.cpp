// Converts exports with `--size`. Their graphs resize the positions to the image's or to a constant size.
#include <algorithm>
#include <numeric>

#include "converted_export.hpp"
#include "models/onnx/bind.hpp"

namespace {

using namespace mpm;
using namespace mpm::test;

constexpr int kTable = 7;

// The ways in which the graph resizes the table of 7x7 positions to the grid of patches.
enum class Resize { FromImage, Sizes, Scales, LastAxis, Bent };

int extent(GraphBuilder& g, int image, int64_t axis) {
    const int size = g.node("Slice", {g.node("Shape", {image}), g.ints({axis}), g.ints({axis + 1})});
    return g.node("Div", {size, g.ints({SmallExport::kPatch})});
}

int joined(GraphBuilder& g, const List<int>& parts) {
    const int all = g.node("Concat", parts);
    g.with("axis", Attribute::of(int64_t{0}));
    return all;
}

int resized(SmallExport& m, int image, cv::Size grid, Resize how) {
    GraphBuilder& g = m.builder();
    const int constant = g.constant(m.random({1, kTable, kTable, SmallExport::kDim}, 1));
    const bool last = how == Resize::LastAxis;
    const int x = last ? constant : test::transposed(g, constant, {0, 3, 1, 2});
    List<int> inputs{x, models::kAbsent, models::kAbsent};
    if (how == Resize::FromImage) {
        inputs.push_back(
            joined(g, {g.ints({1, SmallExport::kDim}), extent(g, image, 2), extent(g, image, 3)}));
    } else if (how == Resize::Scales) {  // adds 0.1 to the size, as DINOv2's code does
        const float rows = (static_cast<float>(grid.height) + 0.1f) / kTable,
                    columns = (static_cast<float>(grid.width) + 0.1f) / kTable;
        inputs[2] = g.constant(Tensor::floats({4}, std::vector<float>{1, 1, rows, columns}));
    } else {
        inputs.push_back(last ? g.ints({1, grid.height, grid.width, SmallExport::kDim})
                              : g.ints({1, SmallExport::kDim, grid.height, grid.width}));
    }
    const int y = g.node("Resize", inputs);
    g.with("mode", Attribute::of(std::string("cubic"))).with("cubic_coeff_a", Attribute::of(-0.75f));
    const int table = how == Resize::Bent ? g.node("Tanh", {y}) : y;  // Tanh hides the resize
    const int rows = last ? table : test::transposed(g, table, {0, 2, 3, 1});
    return g.node("Reshape", {rows, g.ints({1, -1, SmallExport::kDim})});
}

// Returns the tokens as a map, resized to the image's size. The graph has this size as a constant.
int mapOf(SmallExport& m, int image, int x, cv::Size grid) {
    GraphBuilder& g = m.builder();
    const int shape = joined(g, {g.ints({1, SmallExport::kDim}), extent(g, image, 2), extent(g, image, 3)});
    const int map = g.node("Reshape", {test::transposed(g, m.withoutFirst(x), {0, 2, 1}), shape});
    const int size =
        g.ints({1, SmallExport::kDim, grid.height * SmallExport::kPatch, grid.width * SmallExport::kPatch});
    const int y = g.node("Resize", {map, models::kAbsent, models::kAbsent, size});
    g.with("mode", Attribute::of(std::string("linear")));
    return y;
}

// Returns an export. If `open`, the shapes in the blocks do not have a constant number of tokens.
models::Graph exportOf(cv::Size grid, Resize how, bool open, bool map = false) {
    SmallExport m(1, grid, open);
    GraphBuilder& g = m.builder();
    const int image = g.graph().inputs[0].value;
    const int tokens = m.features();
    const int rows = resized(m, image, grid, how);
    const int positions = g.node("Concat", {g.constant(m.random({1, 1, SmallExport::kDim}, 1)), rows});
    g.with("axis", Attribute::of(int64_t{1}));
    int x = g.node("Add", {tokens, positions});
    for (int k = 0; k < 3; ++k)
        x = m.block(x);
    if (!map) m.finish(x);
    if (map) g.output(mapOf(m, image, m.norm(x), grid), "map", {1, SmallExport::kDim, -1, -1});
    return g.graph();
}

const cv::Size kOwn{6, 6}, kOther{10, 8}, kSameCount{12, 3};

models::ConvertOptions atSize(cv::Size grid) {
    models::ConvertOptions options = test::unmerged();
    options.size = {grid.width * SmallExport::kPatch, grid.height * SmallExport::kPatch};
    return options;
}

TEST(Positions, AGraphThatFollowsTheImageIsConvertedAndProvedAtTheNewSize) {
    const models::Graph graph = exportOf(kOwn, Resize::FromImage, true);
    for (const cv::Size grid : {kOther, kSameCount, cv::Size(7, 7)}) {
        const models::Conversion found =
            test::convertedLike(graph, graph, atSize(grid), SmallExport::image(1, grid));
        EXPECT_EQ(found.blocks, 3);
        EXPECT_EQ(found.grid, grid);
        EXPECT_EQ(found.proof.find("at the export's own size"), std::string::npos) << found.proof;
        EXPECT_EQ(test::notesOf(found), "");
    }
}

// The positions follow the image's size. The output has a constant size, which the converter must adapt.
TEST(Positions, AGraphThatHoldsTheSizeOfItsOutputIsAdapted) {
    const models::Graph graph = exportOf(kOwn, Resize::FromImage, true, true);
    const models::Conversion found =
        test::convertedLike(graph, exportOf(kOther, Resize::FromImage, true, true), atSize(kOther),
                            SmallExport::image(1, kOther));
    EXPECT_NE(found.proof.find("at the export's own size"), std::string::npos) << found.proof;
    EXPECT_EQ(test::notesOf(found), "");
}

TEST(Positions, AResizeOfConstantSizesIsComputedAgain) {
    for (const Resize how : {Resize::Sizes, Resize::Scales, Resize::LastAxis, Resize::FromImage}) {
        const models::Graph graph = exportOf(kOwn, how, false);
        for (const cv::Size grid : {kOther, kSameCount, cv::Size(7, 7)}) {
            const models::Conversion found = test::convertedLike(graph, exportOf(grid, how, false),
                                                                 atSize(grid), SmallExport::image(1, grid));
            EXPECT_EQ(found.grid, grid);
            EXPECT_NE(found.proof.find("at the export's own size"), std::string::npos) << found.proof;
            EXPECT_EQ(test::notesOf(found), "") << static_cast<int>(how);
        }
    }
}

TEST(Positions, OtherPositionsAreInterpolatedAndThatIsReported) {
    SmallExport m(1);
    int x = m.embed();
    for (int k = 0; k < 3; ++k)
        x = m.block(x);
    m.finish(x);
    const TempFolder folder;
    models::writeModel(m.graph(), folder / "export.onnx");
    const models::Conversion found =
        models::convertModel(folder / "export.onnx", folder / "converted.onnx", atSize(kOther));
    EXPECT_NE(test::notesOf(found).find("positions of 6x8 patches are interpolated to 8x10"),
              std::string::npos)
        << test::notesOf(found);
}

TEST(Positions, PositionsThatAreKnownToBeInterpolatedTwiceAreReported) {
    const TempFolder folder;
    models::writeModel(exportOf(kOwn, Resize::Bent, false), folder / "export.onnx");
    const models::Conversion found =
        models::convertModel(folder / "export.onnx", folder / "converted.onnx", atSize(kOther));
    EXPECT_NE(test::notesOf(found).find("twice, as the export has interpolated them already"),
              std::string::npos)
        << test::notesOf(found);
}

// Four tokens follow the patches. If the graph cuts these tokens off at a constant number of patches, another
// size is rejected. If the graph counts from the end, another size is accepted.
TEST(Positions, CutsAtTheNumberOfPatchesAreRejected) {
    for (const std::string cut : {"from the end", "at the number", "picked"}) {
        SCOPED_TRACE(cut);
        SmallExport m(1, kOwn, true);
        GraphBuilder& g = m.builder();
        int x = m.joined({m.embed(), g.constant(m.random({1, 4, SmallExport::kDim}, 1))});
        for (int k = 0; k < 3; ++k)
            x = m.block(x);
        x = m.norm(x);
        const int64_t count = kOwn.area();
        List<int64_t> places(count);
        std::iota(places.begin(), places.end(), 1);
        const int y = cut == "picked"
                          ? g.node("Gather", {x, g.ints(places)})
                          : g.node("Slice", {x, g.ints({1}),
                                             g.ints({cut == "at the number" ? count + 1 : -4}), g.ints({1})});
        if (cut == "picked") g.with("axis", Attribute::of(int64_t{1}));
        g.output(y, "y", {1, -1, SmallExport::kDim});
        const TempFolder folder;
        models::writeModel(m.graph(), folder / "export.onnx");
        const auto convert = [&] {
            models::convertModel(folder / "export.onnx", folder / "converted.onnx", atSize(kOther));
        };
        if (cut == "from the end")
            EXPECT_NO_THROW(convert());
        else
            EXPECT_THROW(convert(), models::Refusal);
    }
}

// The graph has no convolution that gives the patch size. The graph follows the image's size only if no
// constant has that size.
TEST(Positions, GraphsWithoutAConvolutionFollowTheImageToo) {
    for (const bool holds : {false, true}) {
        GraphBuilder g(17);
        const int x = g.input("image", {1, 3, 32, 32});
        const int y = holds ? g.node("Add", {x, g.constant(Tensor::floats({1, 1, 32, 32}, 1))}) : x;
        g.output(g.node("Relu", {y}), "y", {1, 3, 32, 32});
        std::vector<std::string> notes;
        models::ConvertOptions options;
        options.size = {64, 48};
        EXPECT_EQ(models::followsSize(g.graph(), models::bindInputs(g.graph(), options, notes)), !holds);
    }
}

// Adds a table of 6x6 positions (with a class token if `special`) to the tokens of an image of any size.
void finishAdded(SmallExport& m, bool special) {
    GraphBuilder& g = m.builder();
    constexpr int kDim = SmallExport::kDim, kPatch = SmallExport::kPatch;
    const int weight = g.constant(m.random({kDim, 3, kPatch, kPatch}, 0.1f));
    const int map = g.node("Conv", {g.graph().inputs[0].value, weight});
    g.with("strides", Attribute::of(List<int64_t>{kPatch, kPatch}));
    int x = test::transposed(g, g.node("Reshape", {map, g.ints({1, kDim, -1})}), {0, 2, 1});
    if (special) {
        x = g.node("Concat", {g.constant(m.random({1, 1, kDim}, 1)), x});
        g.with("axis", Attribute::of(int64_t{1}));
    }
    x = g.node("Add", {x, g.constant(m.random({1, special ? 37 : 36, kDim}, 1))});
    for (int k = 0; k < 3; ++k)
        x = m.block(x);
    m.finish(x);
}

TEST(Positions, TheFirstSizeFitsATableThatIsAdded) {
    for (const bool special : {false, true}) {
        SmallExport m(1, {});
        finishAdded(m, special);
        const cv::Mat image = SmallExport::image(1, {6, 6});
        EXPECT_EQ(test::convertedLike(m.graph(), m.graph(), test::unmerged(), image).size, cv::Size(48, 48));
    }
}

}  // namespace
