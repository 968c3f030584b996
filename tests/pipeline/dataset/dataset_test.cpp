#include "pipeline/dataset/dataset.hpp"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>

#include "pipeline/dataset/classes.hpp"
#include "support/shared.hpp"

namespace fs = std::filesystem;
using namespace mpm::pipeline;

namespace {

class FolderTest : public testing::Test {
protected:
    void SetUp() override {
        const auto* info = testing::UnitTest::GetInstance()->current_test_info();
        m_root = fs::temp_directory_path() /
                 (std::string("mpm_dataset_") + info->name() + std::to_string(getpid()));
        fs::create_directories(m_root / "train/images");
        fs::create_directories(m_root / "train/labels");
        write("b", cv::Mat(4, 6, CV_8U, cv::Scalar(1)));
        write("a", cv::Mat(4, 6, CV_8U, cv::Scalar(255)));
        classFile(R"([{"name": "road", "color": [1, 2, 3]}, {"name": "car", "color": [4, 5, 6]}])");
    }
    void TearDown() override { fs::remove_all(m_root); }

    void write(const std::string& stem, const cv::Mat& labels, cv::Size size = {6, 4}) {
        cv::imwrite((m_root / "train/images" / (stem + ".png")).string(),
                    cv::Mat(size, CV_8UC3, cv::Scalar(9, 8, 7)));
        cv::imwrite((m_root / "train/labels" / (stem + ".png")).string(), labels);
    }
    void classFile(const std::string& text) { std::ofstream(m_root / "classes.json") << text; }

    fs::path m_root;
};

TEST_F(FolderTest, ReadsPairsInOrderOfName) {
    const auto dataset = FolderDataset::withClassFile(m_root.string(), "train");
    ASSERT_EQ(dataset.size(), 2u);
    EXPECT_EQ(dataset.name(0), "a");
    EXPECT_EQ(dataset.classes().names[1], "car");
    EXPECT_EQ(dataset.classes().palette[0], cv::Vec3b(1, 2, 3));
    EXPECT_EQ(dataset.classes().ignored, 255);
    const auto sample = dataset.at(1);
    EXPECT_EQ(sample.image.at<cv::Vec3b>(0, 0), cv::Vec3b(9, 8, 7));
    EXPECT_EQ(sample.labels.at<uchar>(3, 5), 1);
}

TEST_F(FolderTest, SixteenBitLabels) {
    write("c", cv::Mat(4, 6, CV_16U, cv::Scalar(1)));
    EXPECT_EQ(FolderDataset::withClassFile(m_root.string(), "train").at(2).labels.type(), CV_16U);
}

TEST_F(FolderTest, SaysWhatIsWrong) {
    EXPECT_THROW(FolderDataset::withClassFile(m_root.string(), "val"), cv::Exception);
    write("c", cv::Mat(4, 6, CV_8U, cv::Scalar(7)));
    EXPECT_THROW(FolderDataset::withClassFile(m_root.string(), "train").at(2), cv::Exception);
    write("c", cv::Mat(4, 5, CV_8U, cv::Scalar(1)));
    EXPECT_THROW(FolderDataset::withClassFile(m_root.string(), "train").at(2), cv::Exception);
    write("c", cv::Mat(4, 6, CV_8UC3, cv::Scalar(1)));
    EXPECT_THROW(FolderDataset::withClassFile(m_root.string(), "train").at(2), cv::Exception);
    fs::remove(m_root / "train/labels/c.png");
    EXPECT_THROW(FolderDataset::withClassFile(m_root.string(), "train"), cv::Exception);
}

TEST_F(FolderTest, RejectsTwoImagesOfTheSameName) {
    fs::copy(m_root / "train/images/b.png", m_root / "train/images/b.jpg");
    try {
        FolderDataset::withClassFile(m_root.string(), "train");
        FAIL() << "an image was left out without a message";
    } catch (const cv::Exception& error) {
        EXPECT_NE(error.msg.find("have the same name"), std::string::npos) << error.msg;
    }
}

TEST_F(FolderTest, RefusesDamagedClassFiles) {
    for (const char* text :
         {"", "{}", "[]", "[1]", R"([{"name": 3, "color": [1,2,3]}])", R"([{"name": "a"}])",
          R"([{"name": "a", "color": [1,2]}])", R"([{"name": "a", "color": [1,2,256]}])",
          R"([{"name": "a", "color": [1,2,3]})"}) {
        classFile(text);
        EXPECT_THROW(FolderDataset::withClassFile(m_root.string(), "train"), cv::Exception) << text;
    }
}

TEST(ClassFiles, MayHaveNamesAloneIfNobodyDrawsThem) {
    const Classes classes = classesFrom(R"(["person", "", "car"])", "names.json", false);
    EXPECT_EQ(classes.names, (std::vector<std::string>{"person", "", "car"}));
    EXPECT_TRUE(classes.palette.empty());
    EXPECT_EQ(classesFrom(R"([{"name": "a", "color": [1, 2, 3]}])", "names.json", false).palette.size(), 1U);
    EXPECT_THROW(classesFrom(R"(["person"])", "names.json"), cv::Exception);
    for (const char* text : {R"(["a", 1])", R"(["a", {"name": "b", "color": [1,2,3]}])",
                             R"([{"name": "b", "color": [1,2,3]}, "a"])"})
        EXPECT_THROW(classesFrom(text, "names.json", false), cv::Exception) << text;
}

TEST_F(FolderTest, RejectsClassFilesThatFillTheMemoryOrNeverEnd) {
    for (const std::string& text : std::vector<std::string>{
             std::string(1 << 20, '['),
             "[{\"name\": \"" + std::string(2000, 'n') + "\", \"color\": [1, 2, 3]}]",
             "[{\"name\": \"a\", \"color\": [[[[[[1]]]]]]}]", std::string(20 << 20, ' ')}) {
        classFile(text);
        try {
            FolderDataset::withClassFile(m_root.string(), "train");
            ADD_FAILURE() << text.substr(0, 100);
        } catch (const cv::Exception& error) {
            EXPECT_LT(error.err.size(), 500u);
        }
    }
    fs::remove(m_root / "classes.json");
    ASSERT_EQ(mkfifo((m_root / "classes.json").c_str(), 0600), 0);
    EXPECT_THROW(FolderDataset::withClassFile(m_root.string(), "train"), cv::Exception);
}

TEST(CamVid, ReadsTheRealSplits) {
    const std::string root = mpm::test::sharedDir() + "/camvid";
    if (!fs::exists(root)) GTEST_SKIP() << "no CamVid at " << root;
    const FolderDataset train(root, "train", camvidClasses()), val(root, "val", camvidClasses());
    EXPECT_EQ(train.size(), 367u);
    EXPECT_EQ(val.size(), 101u);
    EXPECT_EQ(val.classes().count(), 11);
    EXPECT_EQ(val.at(0).image.size(), cv::Size(480, 360));
}

TEST(BuiltInClasses, NamesAndColoursOfPublishedSets) {
    struct Expected {
        const char* name;
        int count;
        const char *first, *last;
    };
    for (const Expected& set :
         {Expected{"ade20k", 150, "wall", "flag"}, Expected{"cityscapes", 19, "road", "bicycle"},
          Expected{"pascal-context", 60, "background", "wood"}, Expected{"camvid", 11, "sky", "bicyclist"}}) {
        const auto classes = builtInClasses(set.name);
        ASSERT_TRUE(classes) << set.name;
        EXPECT_EQ(classes->count(), set.count);
        EXPECT_EQ(classes->palette.size(), classes->names.size());
        EXPECT_EQ(classes->names.front(), set.first);
        EXPECT_EQ(classes->names.back(), set.last);
    }
    EXPECT_EQ(builtInClasses("ade20k")->names[64], "coffee table");
    EXPECT_EQ(builtInClasses("ade20k")->palette[4], cv::Vec3b(4, 200, 3));
    EXPECT_EQ(builtInClasses("cityscapes")->palette[13], cv::Vec3b(0, 0, 142));
    EXPECT_EQ(builtInClasses("pascal_context", 59)->names.front(), "aeroplane");
    EXPECT_FALSE(builtInClasses("moon"));
    EXPECT_FALSE(builtInClasses(""));
}

}  // namespace
