// Compares MpmEmbed with scalar code, also with attributes that the converter never writes.
#include "mpm_layer/hostile_fixture.hpp"
#include "mpm_layer/small_layer_fixture.hpp"

namespace mpm::test {
namespace {

TEST(Embed, LaysPatchesOverTheTable) {
    const cv::Mat grid = randomMat({2, 5, 3, 4}, 3), table = randomMat({15, 5}, 4);
    cv::dnn::LayerParams params;
    params.set("first", 2);
    const cv::Mat y = run("MpmEmbed", params, grid, {table});
    for (int b = 0; b < 2; ++b) {
        for (int t = 0; t < 15; ++t) {
            for (int c = 0; c < 5; ++c) {
                const bool patch = t >= 2 && t < 14;
                const float expected = table.at<float>(t, c) + (patch ? grid.ptr<float>(b, c)[t - 2] : 0);
                EXPECT_FLOAT_EQ(y.ptr<float>(b, t)[c], expected);
            }
        }
    }
}

TEST(Embed, AddsRowsOfZerosBeforeTheTable) {
    const cv::Mat patches = randomMat({2, 7, 5}, 3), table = randomMat({4, 5}, 4);
    cv::dnn::LayerParams params, plain;
    params.set("first", 1);
    plain.set("first", 1);
    params.set("zeros", 6);
    cv::Mat whole = cv::Mat::zeros(10, 5, CV_32F);
    table.copyTo(whole.rowRange(6, 10));
    EXPECT_EQ(cv::norm(run("MpmEmbed", params, patches, {table}), run("MpmEmbed", plain, patches, {whole})),
              0);
    EXPECT_THROW(run("MpmEmbed", params, randomMat({2, 10, 5}, 3), {table}), cv::Exception);
}

TEST(Embed, RefusesAnotherNumberOfPatchesThanItsModelTakes) {
    const cv::Mat table = randomMat({15, 5}, 4);
    cv::dnn::LayerParams params;
    params.set("first", 2);
    params.set("patches", 12);
    EXPECT_NO_THROW(run("MpmEmbed", params, randomMat({1, 5, 3, 4}, 3), {table}));
    EXPECT_THROW(run("MpmEmbed", params, randomMat({1, 5, 3, 3}, 3), {table}), cv::Exception);
    EXPECT_THROW(run("MpmEmbed", params, randomMat({1, 11, 5}, 3), {table}), cv::Exception);
}

TEST(Embed, MultipliesPatchesOfAnImage) {
    // Columns and rows of the image beyond the last whole patch are ignored, as in a convolution.
    for (const cv::Size patch : {cv::Size(2, 3), cv::Size(1, 1), cv::Size(7, 5)}) {
        const cv::Mat image = randomMat({2, 3, 20, 29}, 3);
        const int rows = 20 / patch.height, columns = 29 / patch.width, tokens = rows * columns;
        const cv::Mat weight = randomMat({3 * patch.area(), 5}, 5), table = randomMat({tokens + 3, 5}, 4);
        cv::dnn::LayerParams params;
        const int sizes[] = {patch.height, patch.width};
        params.set("first", 2);
        params.set("patch", cv::dnn::DictValue::arrayInt(sizes, 2));
        const cv::Mat y = run("MpmEmbed", params, image, {table, weight});
        for (int b = 0; b < 2; ++b) {
            for (int t = 0; t < tokens + 3; ++t) {
                const int p = t - 2;
                for (int d = 0; d < 5; ++d) {
                    double expected = table.at<float>(t, d);
                    for (int k = 0; k < weight.rows && p >= 0 && p < tokens; ++k) {
                        const int c = k / patch.area(), at = k % patch.area();
                        const int row = p / columns * patch.height + at / patch.width;
                        const int column = p % columns * patch.width + at % patch.width;
                        expected += image.ptr<float>(b, c, row)[column] * weight.at<float>(k, d);
                    }
                    ASSERT_NEAR(y.ptr<float>(b, t)[d], expected, 1e-4) << patch << ", row " << t;
                }
            }
        }
    }
}

TEST(Embed, FirstRowOfAnEmbeddingCannotOverflow) {
    for (int first : {kLargest, kLargest - 3, kLargest - 11, 65536, -1})
        expectRefusal([&] { make("MpmEmbed", with("first", DictValue(first))); }, "attribute first must be");
    for (int first : {4, 15, 65535}) {
        LayerParams params = with("first", DictValue(first));
        params.blobs = {mat({15, 5})};
        expectRefusal(
            [&] {
                shapesFor(make("MpmEmbed", params), {{2, 5, 3, 4}});
            },
            "does not fit 12 patches");
    }
}

TEST(Embed, RowsOfZerosHaveLimits) {
    expectRefusal([&] { make("MpmEmbed", with("zeros", DictValue(-1))); }, "attribute zeros must be");
    LayerParams patch = with("zeros", DictValue(1));
    patch.set("patch", listOf({1, 1}));
    expectRefusal([&] { make("MpmEmbed", patch); }, "attribute zeros must be");
    for (const int zeros : {kLargest, kLargest - 15}) {
        LayerParams params = with("zeros", DictValue(zeros));
        params.blobs = {mat({15, 5})};
        expectRefusal([&] { shapesFor(make("MpmEmbed", params), {{2, 5, 3, 4}}); }, "");
    }
}

}  // namespace
}  // namespace mpm::test
