// Access to the files that a model names. Only regular files in the model's folder are opened.
#pragma once

#include <cstdint>
#include <string>

#include <onnx/onnx_pb.h>

namespace mpm::models {

/// An open file, which the destructor closes.
class InputFile {
public:
    /// Opens a regular file; follows links. Throws Refusal if the file cannot be opened, or if the
    /// path is a pipe or a device.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    int descriptor() const { return m_file; }
    std::int64_t size() const { return m_size; }
    /// Raises the limits of the current job according to the file's bytes on disk, once for each file.
    void allow() const;
    /// Reads exactly `count` bytes from `offset`. Returns false on failure.
    bool read(std::int64_t offset, char* to, std::int64_t count) const;

private:
    int m_file = -1;
    std::int64_t m_size = 0, m_held = 0;  // size in bytes; bytes on disk, without holes
    std::uint64_t m_device = 0, m_node = 0;
};

/// The bytes of a tensor in a file next to the model. After links are resolved, the file must be in the
/// folder of `model` or of the file to which `model` links. Download caches need the second case: the model
/// and its data are then links to files in a common folder.
class ExternalData {
public:
    /// Opens the file and checks that it has `expected` bytes from the tensor's offset. Throws Refusal on
    /// failure, or if `model` is empty.
    ExternalData(const onnx::TensorProto& proto, const std::string& model, std::int64_t expected);
    void read(char* to) const;

private:
    const std::string m_path;
    const InputFile m_file;
    const std::int64_t m_expected;
    std::int64_t m_offset = 0;
};

}  // namespace mpm::models
