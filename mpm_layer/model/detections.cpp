// Converts the outputs of a detector to objects in the original image.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <mpm/mpm.hpp>

#include "base/checked.hpp"
#include "base/printable.hpp"

namespace mpm {
namespace {

[[noreturn]] void refuse(const std::string& message) {
    CV_Error(cv::Error::StsBadArg, "mpm: " + message);
}

std::string shapeText(const cv::Mat& mat) {
    std::string text;
    for (int i = 0; i < mat.dims; ++i)
        text += (i > 0 ? " x " : "") + std::to_string(mat.size[i]);
    return text;
}

/// The part of an output that belongs to one image, as f32.
class Output {
public:
    /// @param tail number of dimensions after the dimension of the images
    Output(const std::vector<cv::Mat>& outputs, const std::vector<std::string>& names,
           const std::string& name, int image, int tail)
        : m_name(printable(name, 60)) {
        const auto at = std::find(names.begin(), names.end(), name);
        if (at == names.end()) refuse("names has no \"" + m_name + "\", which info.detections names");
        const cv::Mat& all = outputs[static_cast<size_t>(at - names.begin())];
        // OpenCV 4 has no arrays of one dimension, so [1, boxes] and [boxes] are both matrices.
        if (all.empty() || all.channels() != 1 || all.dims < tail || all.dims > tail + 1)
            fail(all, "images and " + std::to_string(tail) + " more dimensions");
        const bool batched = all.dims == tail + 1;
        if (image < 0 || image >= (batched ? all.size[0] : 1))
            refuse("b is " + std::to_string(image) + "; output \"" + m_name + "\" has " +
                   std::to_string(batched ? all.size[0] : 1) + " images");
        for (int i = batched ? 1 : 0; i < all.dims; ++i)
            sizes.push_back(all.size[i]);
        const auto count = checkedTotal<std::int64_t>(sizes);
        if (count > std::numeric_limits<int>::max()) fail(all, "fewer than 2^31 values");
        const cv::Mat whole = all.isContinuous() ? all : all.clone();
        const cv::Mat one(
            1, static_cast<int>(count), whole.type(),
            whole.data + static_cast<size_t>(image) * static_cast<size_t>(count) * whole.elemSize());
        if (one.depth() == CV_32F)
            values = one.clone();
        else
            one.convertTo(values, CV_32F);
    }

    const float* at(std::int64_t index) const { return values.ptr<float>() + index; }
    [[noreturn]] void fail(const cv::Mat& found, const std::string& expected) const {
        refuse("output \"" + m_name + "\" is " + shapeText(found) + "; expected " + expected);
    }
    void demand(bool holds, const std::string& expected) const {
        std::string shape;
        for (const int size : sizes)
            shape += (shape.empty() ? "" : " x ") + std::to_string(size);
        if (!holds)
            refuse("output \"" + m_name + "\" has " + shape + " values for an image; expected " + expected);
    }

    std::vector<int> sizes;
    cv::Mat values;

private:
    std::string m_name;
};

struct Candidate {
    float score;
    int box, label;
};

float sigmoid(float logit) {
    return logit >= 0 ? 1 / (1 + std::exp(-logit)) : std::exp(logit) / (1 + std::exp(logit));
}

/// Finds the class with the highest score, ignoring the background. The score is NaN if a logit is NaN.
Candidate softmaxOf(const float* logits, int classes, int background, int box) {
    float largest = -std::numeric_limits<float>::infinity();
    for (int c = 0; c < classes; ++c)
        largest = std::isnan(logits[c]) || logits[c] > largest ? logits[c] : largest;
    Candidate best{-1, box, -1};
    double sum = 0;
    for (int c = 0; c < classes; ++c) {
        const float value = std::exp(logits[c] - largest);
        sum += value;
        if (c != background && value > best.score) best.score = value, best.label = c;
    }
    best.score =
        best.label < 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(best.score / sum);
    return best;
}

class Reader {
public:
    Reader(const std::vector<cv::Mat>& outputs, const std::vector<std::string>& names, const ModelInfo& info,
           cv::Size image, int b)
        : m_settings(*info.detections),
          m_image(image),
          m_input(info.size),
          m_boxes(outputs, names, m_settings.boxes, b, 2),
          m_scores(outputs, names, m_settings.scores, b,
                   m_settings.labels.empty() ? scoreDims(outputs, names) : 1) {
        m_boxes.demand(m_boxes.sizes.size() == 2 && m_boxes.sizes[1] == 4, "boxes of four values");
        const std::string count = std::to_string(boxes());
        m_scores.demand(m_scores.sizes[0] == boxes(),
                        count + " boxes as in \"" + printable(m_settings.boxes, 60) + "\"");
        if (!m_settings.labels.empty()) {
            m_labels.emplace(outputs, names, m_settings.labels, b, 1);
            m_labels->demand(m_labels->sizes[0] == boxes(), count + " labels");
        }
        if (!m_settings.masks.empty()) {
            m_masks.emplace(outputs, names, m_settings.masks, b, 3);
            m_masks->demand(m_masks->sizes.size() == 3 && m_masks->sizes[0] == boxes() &&
                                m_masks->sizes[1] > 0 && m_masks->sizes[2] > 0,
                            count + " masks");
        }
        if (m_settings.scale == BoxScale::Pixels && m_settings.sizeInput.empty() && m_input.empty())
            refuse("info.size is empty; it is the scale of boxes in pixels of the input");
    }

    std::vector<Detection> read(float threshold, int most) {
        std::vector<Candidate> found = candidates(threshold);
        const auto better = [](const Candidate& a, const Candidate& b) {
            if (a.score != b.score) return a.score > b.score;
            return a.box != b.box ? a.box < b.box : a.label < b.label;
        };
        std::sort(found.begin(), found.end(), better);
        std::vector<Detection> detections;
        for (const Candidate& one : found) {
            if (static_cast<int>(detections.size()) >= most) break;
            const cv::Rect2f box = boxAt(one.box);
            if (!(box.width > 0 && box.height > 0)) continue;
            detections.push_back({box, one.label, one.score, maskAt(one.box, box)});
        }
        return detections;
    }

private:
    int boxes() const { return m_boxes.sizes[0]; }

    /// Returns the number of dimensions of an image's scores: 2 for [images, boxes, classes], 1 for [images,
    /// boxes]. A score matrix is [images, boxes] if the boxes output has three dimensions and begins with the
    /// same two sizes. Any other matrix is [boxes, classes] of a single image.
    int scoreDims(const std::vector<cv::Mat>& outputs, const std::vector<std::string>& names) const {
        const auto at = std::find(names.begin(), names.end(), m_settings.scores);
        if (at == names.end()) return 2;
        const cv::Mat& scores = outputs[static_cast<size_t>(at - names.begin())];
        const cv::Mat& all = outputs[static_cast<size_t>(
            std::find(names.begin(), names.end(), m_settings.boxes) - names.begin())];
        return scores.dims == 2 && all.dims == 3 && scores.size[0] == all.size[0] &&
                       scores.size[1] == all.size[1]
                   ? 1
                   : 2;
    }

    std::vector<Candidate> candidates(float threshold) const {
        const int classes = m_scores.sizes.size() > 1 ? m_scores.sizes[1] : 1;
        std::vector<Candidate> found;
        const auto take = [&](const Candidate& one) {
            if (one.score > threshold) found.push_back(one);  // not if the score is NaN
        };
        for (int box = 0; box < boxes(); ++box) {
            const float* row = m_scores.at(std::int64_t{box} * classes);
            if (m_settings.activation == ScoreActivation::Softmax) {
                take(softmaxOf(row, classes, m_settings.background, box));
            } else if (m_labels) {
                const float label = *m_labels->at(box);
                if (label >= 0 && label < 0x1p31F) take({row[0], box, static_cast<int>(std::lround(label))});
            } else {
                for (int c = 0; c < classes; ++c)
                    if (c != m_settings.background)
                        take({m_settings.activation == ScoreActivation::Sigmoid ? sigmoid(row[c]) : row[c],
                              box, c});
            }
        }
        return found;
    }

    cv::Rect2f boxAt(int index) const {
        const float* v = m_boxes.at(std::int64_t{index} * 4);
        double corners[4] = {v[0], v[1], v[2], v[3]};
        if (m_settings.format == BoxFormat::CxCyWh)
            for (int i = 0; i < 2; ++i) {
                corners[i] = v[i] - v[i + 2] / 2.;
                corners[i + 2] = v[i] + v[i + 2] / 2.;
            }
        const bool unit = m_settings.scale == BoxScale::Unit;
        const double sides[] = {double(m_image.width), double(m_image.height)};
        const double input[] = {double(m_input.width), double(m_input.height)};
        for (int i = 0; i < 4; ++i) {
            const double side = sides[i % 2];
            const double scale = unit ? side : m_settings.sizeInput.empty() ? side / input[i % 2] : 1;
            corners[i] = corners[i] * scale;
            if (std::isnan(corners[i])) return {};
            corners[i] = std::clamp(corners[i], 0., side);
        }
        return {static_cast<float>(corners[0]), static_cast<float>(corners[1]),
                static_cast<float>(corners[2] - corners[0]), static_cast<float>(corners[3] - corners[1])};
    }

    /// Returns the mask of a box. Cuts the mask only once, so objects with the same box share it.
    cv::Mat maskAt(int index, const cv::Rect2f& box) {
        if (!m_masks) return {};
        cv::Mat& mask = m_cut[index];
        if (mask.empty()) mask = cutMask(index, box);
        return mask;
    }
    cv::Mat cutMask(int index, const cv::Rect2f& box) const {
        const int rows = m_masks->sizes[1], columns = m_masks->sizes[2];
        const float* logits = m_masks->at(std::int64_t{index} * rows * columns);
        const cv::Size size(std::max(1, cvRound(box.width)), std::max(1, cvRound(box.height)));
        const cv::Point corner(std::min(cvRound(box.x), m_image.width - size.width),
                               std::min(cvRound(box.y), m_image.height - size.height));
        const auto place = [](int pixel, int from, int to) {
            return std::clamp((pixel + .5) * to / from - .5, 0., to - 1.);
        };
        cv::Mat mask(size, CV_8U);
        for (int y = 0; y < size.height; ++y) {
            const double v = place(corner.y + y, m_image.height, rows);
            const int top = static_cast<int>(v), bottom = std::min(top + 1, rows - 1);
            const float *first = logits + std::int64_t{top} * columns,
                        *second = logits + std::int64_t{bottom} * columns;
            for (int x = 0; x < size.width; ++x) {
                const double u = place(corner.x + x, m_image.width, columns);
                const int left = static_cast<int>(u), right = std::min(left + 1, columns - 1);
                const double upper = first[left] + (u - left) * (first[right] - first[left]);
                const double lower = second[left] + (u - left) * (second[right] - second[left]);
                mask.at<uchar>(y, x) = upper + (v - top) * (lower - upper) > 0 ? 1 : 0;
            }
        }
        return mask;
    }

    const DetectionOutputs& m_settings;
    const cv::Size m_image, m_input;
    const Output m_boxes, m_scores;
    std::optional<Output> m_labels, m_masks;
    std::map<int, cv::Mat> m_cut;
};

}  // namespace

std::vector<Detection> detections(const std::vector<cv::Mat>& outputs, const std::vector<std::string>& names,
                                  const ModelInfo& info, cv::Size imageSize, float threshold, int b,
                                  int most) {
    if (!info.detections) refuse("info.detections is not set; the model has no metadata of a detector");
    if (outputs.size() != names.size())
        refuse("there are " + std::to_string(outputs.size()) + " outputs and " +
               std::to_string(names.size()) + " names; expected as many");
    if (imageSize.width < 1 || imageSize.height < 1)
        refuse("imageSize must be the size of the original image");
    if (std::isnan(threshold)) refuse("threshold must be a number");
    if (most < 0) refuse("most must be 0 or more");
    return Reader(outputs, names, info, imageSize, b).read(threshold, most);
}

}  // namespace mpm
