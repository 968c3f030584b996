// Tensors out of other frameworks' files. Nothing in a file is ever executed; every size and offset is
// checked against the file before memory is asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

namespace mpm::models {

using NamedTensors = std::map<std::string, torch::Tensor>;

/// By content: PyTorch's zip (.pth, .pt, .bin), .safetensors, .npz. Floating-point tensors come as f32.
/// Throws c10::Error with one line that says what is wrong.
NamedTensors readTensors(const std::string& path);

NamedTensors readTorchZip(std::string_view bytes);
NamedTensors readSafetensors(std::string_view bytes);
NamedTensors readNpz(std::string_view bytes);

/// One member of a zip archive.
struct ZipMember {
    std::string name;
    std::string_view stored;  ///< as it lies in the archive
    bool deflated = false;
    uint64_t size = 0;  ///< unpacked
};

std::vector<ZipMember> listZip(std::string_view bytes);

/// The member's content; deflated members are unpacked, at most `limit` bytes.
std::string unpack(const ZipMember& member, uint64_t limit);

/// Raw little-endian data as a tensor of f32 (or i64 for integers); throws where the sizes do not fit.
torch::Tensor tensorFrom(std::string_view data, torch::ScalarType type, const std::vector<int64_t>& shape,
                         const std::string& name);

}  // namespace mpm::models
