// Reads the pickles of PyTorch as data. Never looks up or calls the classes and functions that a pickle
// names. Builds only plain values, containers and tensors; any other object becomes opaque.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/torch/files/file_tensors.hpp"

namespace mpm::models {

struct Pickled;
using PickledPtr = Pickled*;

struct Pickled {
    enum class Kind { None, Bool, Int, Float, Text, Sequence, Dictionary, Global, Storage, Tensor, Opaque };
    Kind kind = Kind::None;
    int64_t number = 0;
    double real = 0;
    std::string text;               ///< of a Text; "module name" of a Global; the type of a Storage
    std::vector<PickledPtr> items;  ///< of a Sequence
    std::vector<std::pair<PickledPtr, PickledPtr>> map;  ///< of a Dictionary, or the state of an Opaque
    // These members are set only in a Storage or Tensor.
    std::string key;
    int64_t offset = 0;
    std::vector<int64_t> shape, stride;
};

/// All values of a pickle. A flat list owns the values, because values may refer to each other in circles.
struct Pickle {
    std::deque<Pickled> values;
    Pickled* root = nullptr;
};

/// Reads a pickle. Throws FileError on an opcode that plain data does not need.
Pickle readPickle(std::string_view bytes);

struct ZipMember {
    std::string name;
    std::string_view stored;  ///< the bytes in the archive
    bool deflated = false;
    std::uint64_t size = 0;  ///< after unpacking
};

/// Lists the members of a zip archive. Throws FileError if the archive is damaged or encrypted, or if a
/// member is packed with a method other than deflate.
std::vector<ZipMember> listZip(std::string_view bytes);

/// Returns the member's content, unpacked if deflated. Throws FileError if the content has more than `limit`
/// bytes.
std::string unpack(const ZipMember& member, std::uint64_t limit);

class TorchZip {
public:
    /// Throws FileError if the bytes are not a file of torch.save. The bytes must outlive this object.
    explicit TorchZip(std::string_view bytes);

    const Pickled& root() const { return *m_pickle.root; }

    /// Returns the tensor of a value, which must be of the kind Tensor.
    FileTensor tensor(const Pickled& value, const std::string& name);

private:
    const std::vector<ZipMember> m_members;
    std::map<std::string, const ZipMember*> m_byName;
    std::string m_folder, m_text;
    Pickle m_pickle;
    Allowance m_allowance;
};

}  // namespace mpm::models
