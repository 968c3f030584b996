// A file of a detector's matches: a line with the head, then a line for each row and image.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/row_file.hpp"
#include "pipeline/measure/detector/evaluation.hpp"

namespace mpm::pipeline {

class DetectionCountsFile {
public:
    /// Continues an existing file. Throws MeasureError if it is of another evaluation or damaged.
    DetectionCountsFile(const std::string& path, const Json& head);

    const std::vector<DetectionCounts>& counts() const { return m_counts; }  ///< those that were there
    void add(const DetectionCounts& counts);

private:
    std::vector<DetectionCounts> m_counts;
    std::unique_ptr<RowFile> m_file;
};

}  // namespace mpm::pipeline
