#include "models/onnx/io/write.hpp"

#include <algorithm>
#include <limits>

#include <onnx/onnx_pb.h>
#include <opencv2/core.hpp>

#include "base/pending_file.hpp"
#include "base/read_file.hpp"

namespace mpm::models {
namespace {

void remove(onnx::NodeProto& node, const std::string& name) {
    auto& all = *node.mutable_attribute();
    const auto is = [&](const onnx::AttributeProto& attribute) { return attribute.name() == name; };
    all.erase(std::remove_if(all.begin(), all.end(), is), all.end());
}

const onnx::AttributeProto& attributeOf(const onnx::NodeProto& node, const std::string& name) {
    for (const onnx::AttributeProto& attribute : node.attribute())
        if (attribute.name() == name) return attribute;
    return onnx::AttributeProto::default_instance();
}

/// Inserts an attribute in alphabetical order, as the converter does. Files with the same merging then have
/// the same bytes.
onnx::AttributeProto& add(onnx::NodeProto& node, const std::string& name,
                          onnx::AttributeProto::AttributeType type) {
    int place = node.attribute_size();
    node.add_attribute();
    for (; place > 0 && node.attribute(place - 1).name() > name; --place)
        node.mutable_attribute()->SwapElements(place, place - 1);
    onnx::AttributeProto& added = *node.mutable_attribute(place);
    added.set_name(name);
    added.set_type(type);
    return added;
}

void change(onnx::NodeProto& node, const Merging& merging) {
    using P = onnx::AttributeProto;
    remove(node, "method");
    remove(node, "schedule");
    if (merging.method != "mpm") add(node, "method", P::STRING).set_s(merging.method);
    const int64_t first = attributeOf(node, "first_block").i(), blocks = attributeOf(node, "blocks").i();
    const auto isOwn = [&](int block) { return block >= first && block - first < blocks; };
    if (std::none_of(merging.schedule.begin(), merging.schedule.end(), isOwn)) return;
    onnx::AttributeProto& schedule = add(node, "schedule", P::INTS);
    for (const int block : merging.schedule)
        if (isOwn(block)) schedule.add_ints(block);
}

void changeMetadata(onnx::ModelProto& model, const List<int>& schedule) {
    std::string text = "[";
    for (const int block : schedule)
        text += (text.size() > 1 ? "," : "") + std::to_string(block);
    for (auto& entry : *model.mutable_metadata_props()) {
        if (entry.key() != "mpm.schedule") continue;
        entry.set_value(text + "]");
        return;
    }
    auto& added = *model.add_metadata_props();
    added.set_key("mpm.schedule");
    added.set_value(text + "]");
}

}  // namespace

void replaceMerging(const std::string& path, const Merging& merging, int version) {
    onnx::ModelProto model;
    if (!model.ParseFromString(readRegularFile(path, std::numeric_limits<int>::max())))
        CV_Error(cv::Error::StsParseError, path + ": not an ONNX model");
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
        if (node.domain() == "mpm" && node.op_type() == "MpmEncoder" &&
            attributeOf(node, "role").s() != "decoder")
            change(node, merging);
    }
    for (auto& set : *model.mutable_opset_import())
        if (set.domain() == "mpm") set.set_version(version);
    changeMetadata(model, merging.schedule);
    PendingFile file(path, Access::Umask);
    file.write(model.SerializeAsString());
    file.keep();
}

}  // namespace mpm::models
