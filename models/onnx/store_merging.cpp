#include "models/onnx/inspect.hpp"

#include <unistd.h>

#include "base/pending_file.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/rewrite.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {

bool canStoreMerging(const std::string& path) {
    try {
        PendingFile beside(path, Access::Umask);
        return access(path.c_str(), W_OK) == 0;
    } catch (const std::exception&) {
        return false;
    }
}

void storeMerging(const std::string& path, const Merging& merging) {
    const Job job({});
    refusing([&] {
        Graph graph = readModel(path);
        if (!isFused(graph))
            throw Refusal(
                "the model has no MpmEncoder whose method could be stored: convert it with --form "
                "fused");
        setMerging(graph, merging);
        replaceMerging(path, merging, domainVersion(graph));
        return 0;
    });
}

}  // namespace mpm::models
