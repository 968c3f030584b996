// The confusion matrix of a segmentation, and measures computed from it.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

class Confusion {
public:
    Confusion(int classes, int ignored);

    /// Counts the pixels of an image, except pixels whose true id is the ignored id. `truth`, `prediction`:
    /// CV_8U or CV_16U ids of equal size. If a predicted id is not a class, the pixel counts as a miss of the
    /// true class.
    void add(const cv::Mat& truth, const cv::Mat& prediction);

    /// A cell of a confusion matrix. add() throws cv::Exception if the matrix has no such cell.
    struct Cell {
        int truth = 0, predicted = 0;
        int64_t count = 0;
    };
    std::vector<Cell> cells() const;  ///< cells with a count above zero
    void add(const Cell& cell);

    Confusion& operator+=(const Confusion& other);

    int classes() const { return m_classes; }
    int ignored() const { return m_ignored; }
    int64_t at(int truth, int predicted) const;
    int64_t pixels() const;

    /// Returns the intersection over union by class; NaN for a class that is neither true nor predicted at
    /// any pixel.
    std::vector<double> iou() const;
    /// Returns the recall by class; NaN for a class without true pixels.
    std::vector<double> accuracy() const;

    double miou() const;  ///< mean over the classes whose IoU is not NaN, as in mmsegmentation
    double macc() const;
    double aacc() const;  ///< share of correct pixels

private:
    int64_t truthTotal(int truth) const;
    int64_t predictedTotal(int predicted) const;

    int m_classes;
    int m_ignored;
    std::vector<int64_t> m_counts;  ///< classes x (classes + 1); the last column counts ids without a class
};

}  // namespace mpm::pipeline
