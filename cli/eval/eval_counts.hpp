// What was counted, picture by picture: the raw result of `mpm eval`, of which every figure is made. Counts
// are whole numbers, so that shards joined give what the whole gives, bit by bit.
#pragma once

#include <string>
#include <vector>

#include "cli/common/report.hpp"
#include "cli/eval/eval_options.hpp"
#include "pipeline/metric/distances.hpp"
#include "pipeline/metric/regions.hpp"
#include "pipeline/segment/protocol.hpp"

namespace mpm::cli {

/// One picture under one setting.
struct PictureCounts {
    pipeline::SplitConfusion classes;
    pipeline::ObjectCounts objects;
    std::vector<std::vector<int>> windows;  ///< of each window: image tokens entering each block
    int kept = 0;                           ///< image tokens after the last merge, over the windows
    double operations = 0;
    std::vector<pipeline::DistanceCounts> joins;  ///< by stage
};

/// One setting on one group of pictures.
struct GroupRow {
    std::string device, precision;
    std::vector<int> schedule;
    pipeline::ProtocolTimes times;
    std::vector<PictureCounts> pictures;
};

/// Pictures that were read together: what is written at once, and what a shard consists of.
struct Group {
    size_t index = 0;
    std::vector<std::string> names, leftOut;
    std::vector<GroupRow> rows;  ///< one a setting
};

struct Counts {
    Json head;  ///< what was measured, with what, on what
    std::vector<Group> groups;

    int classes() const { return head.at("class_count"); }
    int ignored() const { return head.at("ignored"); }
};

Json toJson(const Group& group);
Group groupFrom(const Json& json, int classes, int ignored);  ///< throws nlohmann::json::exception

Json toJson(const Setting& setting);

}  // namespace mpm::cli
