// The course of a training run as CSV and as a picture.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace mpm::models {

struct CurveRow {
    int64_t step = 0, images = 0;
    double rate = 0, loss = 0;
    double miou = std::numeric_limits<double>::quiet_NaN();  ///< where it was measured
    double seconds = 0;
};

class Curve {
public:
    /// Reads what is there already, up to and with `lastStep`; rows beyond belong to work that was lost.
    Curve(std::string csvPath, int64_t lastStep);

    void add(const CurveRow& row);
    const std::vector<CurveRow>& rows() const { return m_rows; }

    /// Loss (left axis) and validation mIoU (right axis) over pictures seen.
    void draw(const std::string& pngPath) const;

private:
    std::string m_csvPath;
    std::vector<CurveRow> m_rows;
};

}  // namespace mpm::models
