// Reads the pickles of PyTorch as data. Classes and functions in a pickle are never looked up: only tensors
// and plain containers are built, any other object becomes an opaque value.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mpm::models {

struct Pickled;
using PickledPtr = Pickled*;

struct Pickled {
    enum class Kind { None, Bool, Int, Float, Text, Sequence, Dictionary, Global, Storage, Tensor, Opaque };
    Kind kind = Kind::None;
    int64_t number = 0;
    double real = 0;
    std::string text;               ///< also "module name" of a Global, type of a Storage
    std::vector<PickledPtr> items;  ///< of a Sequence
    std::vector<std::pair<PickledPtr, PickledPtr>> map;  ///< of a Dictionary, or state of an Opaque
    // Storage and Tensor
    std::string key;
    int64_t offset = 0;
    std::vector<int64_t> shape, stride;
};

/// All values of a pickle side by side: they may refer to each other in circles.
struct Pickle {
    std::deque<Pickled> values;
    Pickled* root = nullptr;
};

/// Throws FileError on an opcode that plain data does not need.
Pickle readPickle(std::string_view bytes);

}  // namespace mpm::models
