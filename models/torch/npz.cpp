#include <algorithm>
#include <cctype>

#include "models/torch/files.hpp"

namespace mpm::models {
namespace {

/// Value of 'key': in the header's dictionary, up to the comma that ends it.
std::string valueOf(const std::string& header, const std::string& key, const std::string& name) {
    const size_t at = header.find("'" + key + "':");
    TORCH_CHECK(at != std::string::npos, name, ": its header lacks ", key);
    size_t start = at + key.size() + 3;
    while (start < header.size() && header[start] == ' ')
        ++start;
    size_t end = start;
    for (int depth = 0; end < header.size(); ++end) {
        if (header[end] == '(') ++depth;
        if (header[end] == ')') --depth;
        if ((header[end] == ',' || header[end] == '}') && depth == 0) break;
    }
    return header.substr(start, end - start);
}

std::vector<int64_t> shapeOf(const std::string& text, const std::string& name) {
    std::vector<int64_t> shape;
    std::string digits;
    for (char c : text) {
        if (std::isdigit(static_cast<unsigned char>(c))) {
            digits += c;
            TORCH_CHECK(digits.size() < 13, name, ": impossible shape");
            continue;
        }
        TORCH_CHECK(c == '(' || c == ')' || c == ',' || c == ' ' || c == 'L', name,
                    ": its shape cannot be read");
        if (!digits.empty()) shape.push_back(std::stoll(digits));
        digits.clear();
    }
    return shape;
}

torch::ScalarType typeOf(const std::string& descr, const std::string& name) {
    static const std::map<std::string, torch::ScalarType> types{
        {"'<f4'", torch::kFloat32}, {"'<f8'", torch::kFloat64}, {"'<f2'", torch::kFloat16},
        {"'<i8'", torch::kInt64},   {"'<i4'", torch::kInt32},   {"'|u1'", torch::kUInt8},
        {"'|i1'", torch::kInt8},    {"'|b1'", torch::kBool}};
    const auto found = types.find(descr);
    TORCH_CHECK(found != types.end(), name, ": elements of type ", descr, " are not supported");
    return found->second;
}

torch::Tensor readNpy(std::string_view bytes, const std::string& name) {
    TORCH_CHECK(bytes.size() >= 12 && bytes.substr(0, 6) == "\x93NUMPY", name, " is no .npy");
    const int version = bytes[6];
    const size_t lengthBytes = version == 1 ? 2 : 4;
    size_t length = 0;
    for (size_t i = lengthBytes; i > 0; --i)
        length = length << 8 | static_cast<unsigned char>(bytes[8 + i - 1]);
    const size_t start = 8 + lengthBytes;
    TORCH_CHECK(version >= 1 && version <= 3 && length <= bytes.size() - start && length < 65536, name,
                ": its header is damaged");
    const std::string header(bytes.substr(start, length));
    auto shape = shapeOf(valueOf(header, "shape", name), name);
    const bool fortran = valueOf(header, "fortran_order", name) == "True";
    if (fortran) std::reverse(shape.begin(), shape.end());
    auto tensor =
        tensorFrom(bytes.substr(start + length), typeOf(valueOf(header, "descr", name), name), shape, name);
    if (!fortran) return tensor;
    std::vector<int64_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = static_cast<int64_t>(order.size() - 1 - i);
    return tensor.permute(order).contiguous();
}

}  // namespace

NamedTensors readNpz(std::string_view bytes) {
    NamedTensors tensors;
    uint64_t left = (uint64_t{64} << 20) + 8 * bytes.size();  // a file of packed zeros could fill any machine
    for (const auto& member : listZip(bytes)) {
        std::string name = member.name;
        if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0) name.resize(name.size() - 4);
        tensors[name] = readNpy(unpack(member, left), name);
        left -= member.size;
    }
    return tensors;
}

}  // namespace mpm::models
