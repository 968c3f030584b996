// Fuzzes the reader of class files. It must return a list of names and colours, or give a clear error.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pipeline/dataset/classes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const bool colours : {true, false}) {
        try {
            const auto classes = mpm::pipeline::classesFrom({reinterpret_cast<const char*>(data), size},
                                                            "classes.json", colours);
            const bool plain = !colours && classes.palette.empty();
            if (!plain && classes.names.size() != classes.palette.size()) std::abort();
            if (classes.count() < 1 || classes.count() > 65535) std::abort();
        } catch (const cv::Exception&) {
        }
    }
    return 0;
}
