#include "models/torch/files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "models/torch/pickle.hpp"

namespace mpm::models {
namespace {

constexpr uint64_t kLimit = uint64_t{16} << 30;  // no model read here comes near

int64_t elementCount(const std::vector<int64_t>& shape, const std::string& name) {
    int64_t count = 1;
    TORCH_CHECK(shape.size() <= 8, name, ": too many dimensions");
    for (int64_t dim : shape) {
        TORCH_CHECK(dim >= 0 && (dim == 0 || count <= static_cast<int64_t>(kLimit) / dim), name,
                    ": impossible shape");
        count *= dim;
    }
    return count;
}

/// Memory that a file may ask for: views of one storage and packed zeros would let a small file fill any
/// machine.
class Budget {
public:
    explicit Budget(std::string_view file) : m_left((uint64_t{64} << 20) + 8 * file.size()) {}
    void spend(uint64_t bytes, const std::string& name) {
        TORCH_CHECK(bytes <= m_left, name, ": the file's tensors are far larger than the file");
        m_left -= bytes;
    }

private:
    uint64_t m_left;
};

torch::Tensor widened(const torch::Tensor& tensor) {
    if (tensor.is_floating_point()) return tensor.to(torch::kFloat32).clone();
    return tensor.to(torch::kInt64).clone();
}

torch::ScalarType storageType(const std::string& global) {
    static const std::map<std::string, torch::ScalarType> types{
        {"torch FloatStorage", torch::kFloat32}, {"torch DoubleStorage", torch::kFloat64},
        {"torch HalfStorage", torch::kFloat16},  {"torch BFloat16Storage", torch::kBFloat16},
        {"torch LongStorage", torch::kInt64},    {"torch IntStorage", torch::kInt32},
        {"torch ShortStorage", torch::kInt16},   {"torch CharStorage", torch::kInt8},
        {"torch ByteStorage", torch::kUInt8},    {"torch BoolStorage", torch::kBool}};
    const auto found = types.find(global);
    TORCH_CHECK(found != types.end(), "storage of unknown type '", global, "'");
    return found->second;
}

torch::Tensor fromStorage(const Pickled& value, std::string_view data, const std::string& name,
                          Budget& budget) {
    const auto type = storageType(value.text);
    const auto available = static_cast<int64_t>(data.size() / torch::elementSize(type));
    const int64_t count = elementCount(value.shape, name);
    TORCH_CHECK(value.shape.size() == value.stride.size() && value.offset >= 0, name, ": damaged layout");
    int64_t last = value.offset;
    for (size_t i = 0; i < value.shape.size(); ++i) {
        const int64_t steps = value.shape[i] - 1;
        TORCH_CHECK(value.stride[i] >= 0 && (steps <= 0 || value.stride[i] <= available / steps), name,
                    ": damaged layout");
        last += std::max<int64_t>(0, steps) * value.stride[i];
        TORCH_CHECK(last <= available, name, " reaches past its storage");
    }
    if (count == 0) return torch::zeros(value.shape);
    TORCH_CHECK(last < available, name, " reaches past its storage");
    // Members of a zip lie at any offset: copy what is used to aligned memory first.
    const auto element = torch::elementSize(type);
    const int64_t span = last - value.offset + 1;
    budget.spend(static_cast<uint64_t>(std::max(span, count)) * 4, name);
    auto flat = torch::empty({span}, type);
    std::copy_n(data.data() + static_cast<size_t>(value.offset) * element,
                static_cast<size_t>(span) * element, static_cast<char*>(flat.data_ptr()));
    return widened(flat.as_strided(value.shape, value.stride, 0));
}

/// The dictionary with most tensors: the root, or one level down ("model", "state_dict").
const Pickled* weightsIn(const Pickled& root) {
    const auto tensors = [](const Pickled& dictionary) {
        return std::count_if(dictionary.map.begin(), dictionary.map.end(), [](const auto& entry) {
            return entry.first->kind == Pickled::Kind::Text && entry.second->kind == Pickled::Kind::Tensor;
        });
    };
    const Pickled* best = &root;
    for (const auto& entry : root.map) {
        if (tensors(*entry.second) > tensors(*best)) best = entry.second;
    }
    TORCH_CHECK(tensors(*best) > 0, "the file holds no tensors by name");
    return best;
}

std::string readWhole(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    TORCH_CHECK(!error, path, " cannot be read");
    TORCH_CHECK(size <= kLimit, path, " is larger than a model");
    std::string bytes(size, '\0');
    std::ifstream file(path, std::ios::binary);
    TORCH_CHECK(file.read(bytes.data(), static_cast<std::streamsize>(size)), path, " cannot be read");
    return bytes;
}

}  // namespace

torch::Tensor tensorFrom(std::string_view data, torch::ScalarType type, const std::vector<int64_t>& shape,
                         const std::string& name) {
    const int64_t count = elementCount(shape, name);
    TORCH_CHECK(data.size() == static_cast<uint64_t>(count) * torch::elementSize(type), name,
                ": its data does not fit its shape");
    auto tensor = torch::empty(shape, type);
    std::copy_n(data.data(), data.size(), static_cast<char*>(tensor.data_ptr()));
    return widened(tensor);
}

NamedTensors readTorchZip(std::string_view bytes) {
    const auto members = listZip(bytes);
    const std::string tail = "/data.pkl";
    const auto index = std::find_if(members.begin(), members.end(), [&](const ZipMember& member) {
        return member.name.size() > tail.size() &&
               member.name.compare(member.name.size() - tail.size(), tail.size(), tail) == 0;
    });
    TORCH_CHECK(index != members.end(), "the archive lacks data.pkl: no file of torch.save");
    const std::string folder = index->name.substr(0, index->name.size() - tail.size());
    const std::string text = unpack(*index, uint64_t{256} << 20);
    const Pickle pickle = readPickle(text);
    std::map<std::string, const ZipMember*> byName;
    for (const auto& member : members)
        byName[member.name] = &member;
    Budget budget(bytes);
    NamedTensors tensors;
    for (const auto& [key, value] : weightsIn(*pickle.root)->map) {
        if (key->kind != Pickled::Kind::Text || value->kind != Pickled::Kind::Tensor) continue;
        const auto found = byName.find(folder + "/data/" + value->key);
        TORCH_CHECK(found != byName.end(), "the archive lacks ", folder, "/data/", value->key);
        const ZipMember& member = *found->second;
        TORCH_CHECK(!member.deflated, member.name, " is packed, which torch.save never does");
        tensors[key->text] = fromStorage(*value, member.stored, key->text, budget);
    }
    return tensors;
}

NamedTensors readSafetensors(std::string_view bytes) {
    TORCH_CHECK(bytes.size() >= 8, "safetensors: the header is missing");
    uint64_t length = 0;
    for (int i = 7; i >= 0; --i)
        length = length << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
    TORCH_CHECK(length <= bytes.size() - 8 && length <= (uint64_t{100} << 20),
                "safetensors: the header is longer than the file");
    const auto header = nlohmann::json::parse(bytes.substr(8, length), nullptr, false);
    TORCH_CHECK(header.is_object(), "safetensors: the header is no JSON object");
    static const std::map<std::string, torch::ScalarType> types{
        {"F32", torch::kFloat32},   {"F64", torch::kFloat64}, {"F16", torch::kFloat16},
        {"BF16", torch::kBFloat16}, {"I64", torch::kInt64},   {"I32", torch::kInt32},
        {"I16", torch::kInt16},     {"I8", torch::kInt8},     {"U8", torch::kUInt8},
        {"BOOL", torch::kBool}};
    const auto data = bytes.substr(8 + length);
    uint64_t used = 0;
    NamedTensors tensors;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") continue;
        try {
            const auto type = types.find(entry.at("dtype").get<std::string>());
            TORCH_CHECK(type != types.end(), "safetensors: ", name, " has an unknown type");
            const auto range = entry.at("data_offsets").get<std::vector<uint64_t>>();
            TORCH_CHECK(range.size() == 2 && range[0] <= range[1] && range[1] <= data.size(),
                        "safetensors: ", name, " lies outside the file");
            used += range[1] - range[0];
            TORCH_CHECK(used <= data.size(), "safetensors: ", name, " shares its data with others");
            tensors[name] = tensorFrom(data.substr(range[0], range[1] - range[0]), type->second,
                                       entry.at("shape").get<std::vector<int64_t>>(), name);
        } catch (const nlohmann::json::exception&) {
            TORCH_CHECK(false, "safetensors: the entry of ", name, " is damaged");
        }
    }
    return tensors;
}

NamedTensors readTensors(const std::string& path) {
    const std::string bytes = readWhole(path);
    if (bytes.compare(0, 2, "PK") != 0) {
        TORCH_CHECK(bytes.size() < 2 || bytes.compare(0, 2, "\x80\x02") != 0, path,
                    " is of PyTorch before 1.6; save it again with a newer one");
        return readSafetensors(bytes);
    }
    const bool isNpz = path.size() > 4 && path.compare(path.size() - 4, 4, ".npz") == 0;
    return isNpz ? readNpz(bytes) : readTorchZip(bytes);
}

}  // namespace mpm::models
