// Functions for the targets that read files of weights.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/printable.hpp"
#include "models/torch/files/file_error.hpp"
#include "models/torch/files/file_tensors.hpp"

namespace mpm::fuzz {

/// Ends the program if a message is not a single printable line of limited length.
inline void demandReadable(const std::string& message) {
    if (message.size() > 1000 || printable(message, 1000) != message) std::abort();
}

template <class Action>
void attempt(const Action& action) {
    try {
        action();
    } catch (const cv::Exception& error) {
        demandReadable(error.err);
    }
}

/// Reads every element of all tensors, so that a sanitizer finds shapes that do not fit the data.
inline void touch(const models::FileTensors& tensors) {
    for (const auto& entry : tensors) {
        const models::FileTensor& tensor = entry.second;
        const auto count = static_cast<std::size_t>(tensor.count());
        if (models::isFloating(tensor.element)) {
            std::vector<float> values(count);
            tensor.copyTo(values.data());
        } else {
            std::vector<std::int64_t> values(count);
            tensor.copyTo(values.data());
        }
    }
}

template <class Read>
void readAll(const Read& read) {
    attempt([&] { touch(read()); });
}

}  // namespace mpm::fuzz
