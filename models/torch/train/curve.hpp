// The course of a training run as CSV and as an image.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace mpm::models {

struct CurveRow {
    int64_t step = 0, images = 0;
    double rate = 0, loss = 0;
    double miou = std::numeric_limits<double>::quiet_NaN();  ///< NaN if not measured
    double seconds = 0;
};

class Curve {
public:
    /// Reads existing rows up to and including `lastStep`; later rows belong to lost work.
    Curve(std::string csvPath, int64_t lastStep);

    void add(const CurveRow& row);
    const std::vector<CurveRow>& rows() const { return m_rows; }

    /// Loss and validation mIoU over the images seen, side by side.
    void draw(const std::string& pngPath) const;

private:
    std::string m_csvPath;
    std::vector<CurveRow> m_rows;
};

}  // namespace mpm::models
