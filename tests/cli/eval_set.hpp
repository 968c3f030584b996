// A small labelled data set on the disk, and functions that read the reports of `mpm eval`.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "cli/process.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {

nlohmann::json readJson(const std::string& path);
std::string readText(const std::string& path);

/// Returns a label image: rectangles of random classes. The first column has the label `ignored`.
cv::Mat blobs(int seed, cv::Size size, int classes, int ignored);

/// Returns a report as text, without measured times, which differ from run to run.
std::string withoutTimes(nlohmann::json report);

/// A data set for `--dataset folder`: some images in ROOT/val, three classes, and a matching model.
class EvalSet {
public:
    explicit EvalSet(int images);

    std::string path(const std::string& name) const { return m_folder / name; }
    /// Returns the arguments of `mpm eval` for this data set, followed by `more`.
    std::vector<std::string> words(const std::vector<std::string>& more) const;
    Outcome eval(const std::vector<std::string>& more) const { return mpmProgram(words(more)); }
    void damage(const std::string& stem) const;

private:
    TempFolder m_folder;
};

}  // namespace mpm::test
