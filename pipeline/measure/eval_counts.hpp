// The raw counts of each image in an evaluation, from which all figures are computed. Counts are whole
// numbers, so that joined shards give the same bits as a single run.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/measure/eval_settings.hpp"
#include "pipeline/measure/head.hpp"
#include "pipeline/measure/reuse_counts.hpp"
#include "pipeline/metric/regions.hpp"
#include "pipeline/segment/protocol.hpp"

namespace mpm::pipeline {

/// The counts of an image with a setting.
struct ImageCounts {
    SplitCells classes;
    ObjectCounts objects;
    std::vector<std::vector<int>> windows;  ///< [window][block]: computed image tokens
    int kept = 0;                           ///< image tokens after the last merge, summed over the windows
    double operations = 0;
    std::vector<DistanceCounts> joins;  ///< by stage
    ReuseCounts reuse;
    /// Share of the pixels whose label is the same as with all tokens; NaN if not measured.
    double agreement = std::numeric_limits<double>::quiet_NaN();
};

/// The counts of a group of images with a setting.
struct GroupRow {
    std::string device, precision;
    std::vector<int> schedule;
    ProtocolTimes times;
    std::vector<ImageCounts> images;
};

/// The counts of images that are read together and belong to the same shard.
struct Group {
    size_t index = 0;
    std::vector<std::string> names, leftOut;
    std::vector<GroupRow> rows;  ///< by setting
};

/// The names of a setting in reports, such as "tome", "tome:r=13" and "f32".
struct SettingHead {
    std::string method, parameters, precision;
    int batch = 1;
    std::optional<std::vector<double>> night;  ///< luminance, photons, deviation
};

struct EvalHead {
    MeasureHead run;
    std::string modelSha256;
    int blocks = 0, width = 0, heads = 0;  ///< of the encoder
    std::string dataset, split;
    size_t images = 0;
    std::uint64_t imagesHash = 0;  ///< hash of the images' names
    size_t group = 1, groups = 0;  ///< images in a group; number of groups in all shards
    Shard shard;
    std::vector<std::string> classes;  ///< names; empty if the data set has none
    int classCount = 0, ignored = 255;
    int bandRadius = 0;         ///< half the width of the band along boundaries, in label pixels
    std::vector<int> schedule;  ///< for methods that do not name their own schedule
    std::vector<SettingHead> settings;
};

struct EvalCounts {
    EvalHead head;
    std::vector<Group> groups;
};

}  // namespace mpm::pipeline
