#include "models/torch/model/named_tensors.hpp"

#include "models/torch/files/file_error.hpp"

namespace mpm::models {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{16} << 30;  // larger than any supported model

NamedTensors toTorch(const FileTensors& tensors) {
    NamedTensors named;
    for (const auto& [name, tensor] : tensors)
        named[name] = mpm::models::toTorch(tensor);
    return named;
}

NamedTensors tensorsOf(const std::string& bytes, const std::string& path) {
    // These four bytes identify a zip file. A safetensors file begins with the length of its header, and
    // these bytes would be a length that is far too large.
    if (bytes.compare(0, 4, "PK\x03\x04") != 0) {
        demand(bytes.compare(0, 4, "\x80\x02\x8a\x0a") != 0,
               "of PyTorch before 1.6; save it again with a newer one");
        return readSafetensors(bytes);
    }
    const bool isNpz = path.size() > 4 && path.compare(path.size() - 4, 4, ".npz") == 0;
    return isNpz ? readNpz(bytes) : readTorchZip(bytes);
}

}  // namespace

torch::Tensor toTorch(const FileTensor& tensor) {
    auto result = torch::empty(tensor.shape, isFloating(tensor.element) ? torch::kFloat32 : torch::kInt64);
    if (isFloating(tensor.element))
        tensor.copyTo(result.data_ptr<float>());
    else
        tensor.copyTo(result.data_ptr<std::int64_t>());
    return result;
}

NamedTensors readTorchZip(std::string_view bytes) {
    return toTorch(torchZipTensors(bytes));
}

NamedTensors readSafetensors(std::string_view bytes) {
    return toTorch(safetensorsTensors(bytes));
}

NamedTensors readNpz(std::string_view bytes) {
    return toTorch(npzTensors(bytes));
}

NamedTensors readTensors(const std::string& path) {
    return fromFile(path, kLimit, [&](const std::string& bytes) { return tensorsOf(bytes, path); });
}

}  // namespace mpm::models
