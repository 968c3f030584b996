#include "models/onnx/io/external_data.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/checked.hpp"
#include "base/printable.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/tensor.hpp"

namespace fs = std::filesystem;

namespace mpm::models {
namespace {

struct External {
    fs::path location;
    std::int64_t offset = 0;
    std::int64_t length = -1;  // -1: the length of the tensor
};

std::string shown(const std::string& text) {
    return std::string("'").append(printable(text, 200)).append("'");
}

std::int64_t parseCount(const onnx::TensorProto& proto, const std::string& text) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
        throw Refusal("external data of " + shown(proto.name()) + ": " + shown(text) + " is not a size");
    }
    return std::stoll(text);
}

External externalOf(const onnx::TensorProto& proto) {
    External external;
    for (const auto& entry : proto.external_data()) {
        // Cuts the path at a zero byte, as open() does: the checked path must be the opened path.
        if (entry.key() == "location") external.location = entry.value().substr(0, entry.value().find('\0'));
        if (entry.key() == "offset") external.offset = parseCount(proto, entry.value());
        if (entry.key() == "length") external.length = parseCount(proto, entry.value());
    }
    return external;
}

/// Returns whether `path` is in `folder` or in a subfolder. Both paths must be canonical.
bool isInside(const fs::path& path, const fs::path& folder) {
    const auto differ = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return differ.first == folder.end() && differ.second != path.end();
}

/// Returns the path of the data, with links resolved.
fs::path contained(const onnx::TensorProto& proto, const std::string& model, const fs::path& location) {
    const std::string of = "external data of " + shown(proto.name());
    bool named = !location.empty() && !location.is_absolute() && !model.empty();
    for (const fs::path& part : location)
        named = named && part != "..";
    if (!named) throw Refusal(of + " must lie beside the model, not at " + shown(location.string()));
    fs::path folder = fs::path(model).parent_path();
    if (folder.empty()) folder = ".";
    std::error_code error;
    const fs::path file = fs::canonical(folder / location, error);
    if (error)
        throw Refusal("external data file " + shown((folder / location).string()) +
                      " is missing: keep it beside the model");
    const fs::path beside = fs::canonical(folder, error);
    const bool inside = !error && isInside(file, beside);
    const fs::path home = fs::canonical(model, error).parent_path();
    if (!inside && (error || !isInside(file, home)))
        throw Refusal(of + ": " + shown(location.string()) +
                      " is a link that leads out of the model's folder; put the file itself there");
    return file;
}

}  // namespace

InputFile::InputFile(const std::string& path) {
    m_file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (m_file < 0) throw Refusal(shown(path) + " cannot be opened (" + std::strerror(errno) + ")");
    struct stat status {};
    if (fstat(m_file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(m_file);
        throw Refusal(shown(path) + " is not a file that can be read");
    }
    m_size = status.st_size;
    m_held = std::min<std::int64_t>(m_size, checkedProduct<std::int64_t>(status.st_blocks, 512));
    m_device = status.st_dev;
    m_node = status.st_ino;
}

InputFile::~InputFile() {
    close(m_file);
}

void InputFile::allow() const {
    allowFor(m_device, m_node, m_held);
}

bool InputFile::read(std::int64_t offset, char* to, std::int64_t count) const {
    while (count > 0) {
        const ssize_t got = pread(m_file, to, static_cast<size_t>(count), offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        offset += got;
        count -= got;
    }
    return true;
}

ExternalData::ExternalData(const onnx::TensorProto& proto, const std::string& model, std::int64_t expected)
    : m_path(contained(proto, model, externalOf(proto).location).string()),
      m_file(m_path),
      m_expected(expected) {
    const External external = externalOf(proto);
    if (external.length >= 0 && external.length != expected)
        throw Refusal("external data of " + shown(proto.name()) + " has another length than its shape needs");
    if (external.offset > m_file.size() || expected > m_file.size() - external.offset)
        throw Refusal("external data file " + shown(m_path) + " is too short for " + shown(proto.name()));
    m_offset = external.offset;
    m_file.allow();
}

void ExternalData::read(char* to) const {
    if (!m_file.read(m_offset, to, m_expected))
        throw Refusal("external data file " + shown(m_path) + " cannot be read");
}

}  // namespace mpm::models
