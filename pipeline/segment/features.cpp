#include "pipeline/segment/features.hpp"

#include <cstdint>

namespace mpm::pipeline {

namespace {

constexpr int kFeatureWidth = 192;  // width of the smallest common ViT; few models have so many classes

bool isRows(const cv::Mat& output, const OutputFacts& facts) {
    if (output.dims != 3) return false;
    const int rows = output.size[1], least = facts.special + facts.tokens;
    return rows == facts.tokens || rows == least || (rows > least && output.size[2] == facts.dim);
}

bool isPlanes(const cv::Mat& output, const OutputFacts& facts) {
    if (facts.labels || output.dims != 4) return false;
    const int width = output.size[1];
    return std::int64_t(output.size[2]) * output.size[3] == facts.tokens &&
           (width == facts.dim || width >= kFeatureWidth);
}

}  // namespace

bool hasIds(const cv::Mat& output) {
    if (output.dims != 4 || output.size[1] != 1) return false;
    if (output.type() != CV_32F) return true;
    if (!cv::checkRange(output, true, nullptr, 0, 65536)) return false;
    cv::Mat ids, whole;
    output.convertTo(ids, CV_16U);
    ids.convertTo(whole, CV_32F);
    return cv::norm(output, whole, cv::NORM_INF) == 0;
}

OutputKind outputKind(const cv::Mat& output, const OutputFacts& facts) {
    if (output.dims == 4 && output.size[1] == 1)
        return hasIds(output) ? OutputKind::Labels : OutputKind::Unknown;
    if (output.type() != CV_32F || facts.tokens < 1) return OutputKind::Unknown;
    if (isRows(output, facts) || isPlanes(output, facts)) return OutputKind::Features;
    return output.dims == 4 ? OutputKind::Logits : OutputKind::Unknown;
}

cv::Mat featuresOf(const cv::Mat& output, int index, const OutputFacts& facts) {
    if (output.dims == 4) {
        const cv::Mat planes(output.size[1], facts.tokens, CV_32F,
                             const_cast<float*>(output.ptr<float>(index)));
        return planes.t();
    }
    const cv::Mat rows(output.size[1], output.size[2], CV_32F, const_cast<float*>(output.ptr<float>(index)));
    const int first = rows.rows == facts.tokens ? 0 : facts.special;
    return rows.rowRange(first, first + facts.tokens).clone();
}

double meanCosine(const cv::Mat& a, const cv::Mat& b, const cv::Mat& seen) {
    CV_CheckTypeEQ(a.type(), CV_32F, "a: expected CV_32F");
    CV_CheckTypeEQ(b.type(), CV_32F, "b: expected CV_32F");
    CV_Check(b.rows, a.size() == b.size(), "b: expected the size of a");
    if (!seen.empty()) CV_CheckEQ(int(seen.total()), a.rows, "seen: expected one entry for each row");
    double sum = 0;
    int counted = 0;
    for (int i = 0; i < a.rows; ++i) {
        if (!seen.empty() && seen.ptr<uchar>()[i] == 0) continue;
        const double lengths = cv::norm(a.row(i)) * cv::norm(b.row(i));
        sum += lengths > 0 ? a.row(i).dot(b.row(i)) / lengths : 0;
        ++counted;
    }
    return counted > 0 ? sum / counted : 0;
}

}  // namespace mpm::pipeline
