// Files that a model reads or names. A model decides which file beside it is opened, so nothing but a regular
// file in the model's own folder is.
#pragma once

#include <cstdint>
#include <string>

#include <onnx/onnx_pb.h>

namespace mpm::models {

/// An open file, closed with the object.
class InputFile {
public:
    /// Opens a regular file, following links; a pipe or a device does not block. Throws Refusal.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    int descriptor() const { return m_file; }
    std::int64_t size() const { return m_size; }
    /// The job in hand may spend by the size of this file, once.
    void allow() const;
    /// Exactly so many bytes from `offset` on; false where they are not to be had.
    bool read(std::int64_t offset, char* to, std::int64_t count) const;

private:
    int m_file = -1;
    std::int64_t m_size = 0, m_held = 0;  // as it says, and without its holes
    std::uint64_t m_device = 0, m_node = 0;
};

/// The bytes of a tensor that lie in another file. The file is looked for beside the model, under the name by
/// which the model was given; where its links end must lie in that folder, or in the one where the model
/// itself lies (caches keep both as links to one store).
class ExternalData {
public:
    /// Opens the file and checks that `expected` bytes are there. Throws Refusal; always where `model` is
    /// empty.
    ExternalData(const onnx::TensorProto& proto, const std::string& model, std::int64_t expected);
    void read(char* to) const;

private:
    const std::string m_path;
    const InputFile m_file;
    const std::int64_t m_expected;
    std::int64_t m_offset = 0;
};

}  // namespace mpm::models
