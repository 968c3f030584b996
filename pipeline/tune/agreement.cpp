#include "pipeline/tune/model_trials.hpp"

#include <algorithm>
#include <cmath>

#include "pipeline/measure/reuse_counts.hpp"

namespace mpm::pipeline {

namespace {

AgreementKind kindOf(const Network& network, const cv::Mat& output) {
    if (network.detects()) return AgreementKind::Boxes;
    const OutputKind kind = network.kindOf(output);
    const bool classes = output.dims == 2 && !network.info().labels.empty();
    if (kind == OutputKind::Labels || kind == OutputKind::Logits || classes) return AgreementKind::Labels;
    return kind == OutputKind::Unknown && isMap(network, output) ? AgreementKind::Map : AgreementKind::Rows;
}

cv::Mat bestClass(const cv::Mat& scores) {
    const float* first = scores.ptr<float>();
    const auto best = std::max_element(first, first + scores.size[1]) - first;
    return cv::Mat(1, 1, CV_16U, cv::Scalar(static_cast<double>(best)));
}

double meanDifference(const cv::Mat& a, const cv::Mat& b) {
    const cv::Mat left = a.reshape(1, 1), right = b.reshape(1, 1);
    double sum = 0;
    for (int i = 0; i < left.cols; ++i)
        sum += std::abs(double(left.at<float>(i)) - right.at<float>(i));
    return left.cols > 0 ? sum / left.cols : 0;
}

bool matches(const Detection& a, const Detection& b) {
    constexpr float kLeast = 0.75F;
    const float both = (a.box & b.box).area();
    return a.label == b.label && both >= kLeast * (a.box.area() + b.box.area() - both);
}

/// Returns the agreement of two outputs if at least one is empty or constant: 1 if both are, else 0. `first`,
/// `second`: whether the first and the second output is empty or constant.
double without(bool first, bool second) {
    return first && second ? 1 : 0;
}

/// Returns `agreement`, or 0 if it is not finite, which happens if an output has NaN or infinity.
double orNone(double agreement) {
    return std::isfinite(agreement) ? agreement : 0;
}

}  // namespace

bool isMap(const Network& network, const cv::Mat& output) {
    if (output.dims == 4) return output.size[1] == 1;
    const cv::Size image = network.info().size;
    return output.dims == 3 && !network.hasQueries() &&
           int64_t{output.size[1]} * image.width == int64_t{output.size[2]} * image.height;
}

double labelAgreement(const cv::Mat& full, const cv::Mat& other) {
    if (full.size() != other.size()) return 0;
    return full.empty() ? 1 : shareOfEqual(full, other);
}

double mapAgreement(const cv::Mat& full, const cv::Mat& other) {
    if (full.total() != other.total()) return 0;
    const auto deviationOf = [](const cv::Mat& map) {
        const cv::Mat flat = map.reshape(1, 1);
        return meanDifference(flat, cv::Mat(flat.size(), CV_32F, cv::mean(flat)));
    };
    const double deviation = deviationOf(full), others = deviationOf(other);
    if (deviation == 0 || others == 0) return without(deviation == 0, others == 0);
    return orNone(1 - meanDifference(full, other) / deviation);
}

double boxAgreement(const std::vector<Detection>& full, const std::vector<Detection>& other) {
    if (full.empty() || other.empty()) return without(full.empty(), other.empty());
    std::vector<bool> taken(other.size());
    double matched = 0;
    for (const Detection& one : full) {
        for (size_t k = 0; k < other.size(); ++k) {
            if (taken[k] || !matches(one, other[k])) continue;
            taken[k] = true;
            ++matched;
            break;
        }
    }
    return (matched / double(full.size()) + matched / double(other.size())) / 2;
}

void RowMeans::add(const TokenRows& full) {
    m_others.resize(std::max(m_others.size(), static_cast<size_t>(full.rows.rows)));
    for (int row = 0; row < full.rows.rows; ++row) {
        cv::Mat wide;
        full.rows.row(row).convertTo(wide, CV_64F);
        if (!cv::checkRange(wide)) wide = cv::Scalar(0);
        cv::Mat& sum = full.isImage(row) ? m_image : m_others[static_cast<size_t>(row)];
        sum = sum.empty() ? wide.clone() : cv::Mat(sum + wide);
        m_imageRows += full.isImage(row) ? 1 : 0;
    }
    m_images += 1;
}

cv::Mat RowMeans::meanOf(const TokenRows& rows, int row) const {
    return rows.isImage(row) ? cv::Mat(m_image / m_imageRows)
                             : cv::Mat(m_others[static_cast<size_t>(row)] / m_images);
}

double RowMeans::agreement(const TokenRows& full, const TokenRows& other) const {
    if (full.rows.size() != other.rows.size()) return 0;
    double sum = 0;
    for (int row = 0; row < full.rows.rows; ++row) {
        const cv::Mat mean = meanOf(full, row);
        cv::Mat a, b;
        full.rows.row(row).convertTo(a, CV_64F);
        other.rows.row(row).convertTo(b, CV_64F);
        a -= mean, b -= mean;
        const double lengthA = cv::norm(a), lengthB = cv::norm(b);
        const bool none = lengthA == 0 || lengthB == 0;
        sum += none ? without(lengthA == 0, lengthB == 0) : orNone(a.dot(b) / (lengthA * lengthB));
    }
    return full.rows.rows > 0 ? sum / full.rows.rows : 1;
}

cv::Mat Agreement::comparable(const Network& network, const cv::Mat& output) const {
    if (kind() != AgreementKind::Labels) return output;
    return output.dims == 2 ? bestClass(output) : labelsOf(output, 0, network.info().size);
}

TokenRows Agreement::rowsOf(const Network& network, const cv::Mat& values) const {
    const OutputFacts facts = network.outputFacts();
    if (values.dims == 4) {  // channels come before pixels; makes each pixel a row
        const cv::Mat planes(values.size[1], static_cast<int>(values.total() / values.size[1]), CV_32F,
                             const_cast<float*>(values.ptr<float>()));
        return {planes.t(), 0, planes.cols};
    }
    const int width = values.size[values.dims - 1];
    const cv::Mat rows(static_cast<int>(values.total() / width), width, CV_32F,
                       const_cast<float*>(values.ptr<float>()));
    const bool tokens = network.kindOf(values) == OutputKind::Features;
    if (!tokens) return {rows, 0, values.dims == 2 ? 0 : rows.rows};
    return {rows, rows.rows == facts.tokens ? 0 : facts.special, facts.tokens};
}

void Agreement::add(const Network& network, const std::vector<cv::Mat>& outputs, cv::Size size) {
    if (!m_kind) m_kind = kindOf(network, outputs.front());
    m_sizes.push_back(size);
    if (kind() == AgreementKind::Boxes) {
        m_boxes.push_back(objectsOf(network, outputs, 0, size, {}));
        return;
    }
    m_full.push_back(comparable(network, outputs.front()).clone());
    if (kind() == AgreementKind::Rows) m_means.add(rowsOf(network, m_full.back()));
}

double Agreement::of(const Network& network, size_t image, const std::vector<cv::Mat>& outputs) const {
    if (kind() == AgreementKind::Boxes)
        return boxAgreement(m_boxes.at(image), objectsOf(network, outputs, 0, m_sizes.at(image), {}));
    const cv::Mat& full = m_full.at(image);
    const cv::Mat other = comparable(network, outputs.front());
    if (kind() == AgreementKind::Labels) return labelAgreement(full, other);
    if (kind() == AgreementKind::Map) return mapAgreement(full, other);
    return m_means.agreement(rowsOf(network, full), rowsOf(network, other));
}

}  // namespace mpm::pipeline
