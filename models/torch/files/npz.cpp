#include <algorithm>
#include <cctype>

#include "models/torch/files/file_error.hpp"
#include "models/torch/files/file_tensors.hpp"
#include "models/torch/files/pickle.hpp"

namespace mpm::models {
namespace {

/// Returns the value of `key` in the header's dictionary, up to the comma or brace that ends the value.
std::string valueOf(const std::string& header, const std::string& key, const std::string& name) {
    const size_t at = header.find("'" + key + "':");
    demand(at != std::string::npos, name, ": its header lacks ", key);
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
            demand(digits.size() < 13, name, ": impossible shape");
            continue;
        }
        demand(c == '(' || c == ')' || c == ',' || c == ' ' || c == 'L', name, ": its shape cannot be read");
        if (!digits.empty()) shape.push_back(std::stoll(digits));
        digits.clear();
    }
    return shape;
}

FileTensor readNpy(std::string_view bytes, const std::string& name) {
    demand(bytes.size() >= 12 && bytes.substr(0, 6) == "\x93NUMPY", name, " is no .npy");
    const int version = static_cast<unsigned char>(bytes[6]);
    demand(version >= 1 && version <= 3, name, " is an .npy of an unknown version");
    const size_t lengthBytes = version == 1 ? 2 : 4, start = 8 + lengthBytes;
    const size_t length = littleEndian(bytes.substr(8, lengthBytes));
    demand(length <= bytes.size() - start && length < 65536, name, ": its header is damaged");
    const std::string header(bytes.substr(start, length));
    const std::string type = valueOf(header, "descr", name);
    const auto element = elementNamed(&ElementNames::numpy, type);
    demand(element.has_value(), name, ": elements of type ", nameOf(type), " are not supported");
    const bool columnMajor = valueOf(header, "fortran_order", name) == "True";
    return denseTensor(bytes.substr(start + length), *element, shapeOf(valueOf(header, "shape", name), name),
                       name, columnMajor);
}

}  // namespace

FileTensors npzTensors(std::string_view bytes) {
    FileTensors tensors;
    Allowance allowance(bytes);
    for (const auto& member : listZip(bytes)) {
        std::string name = member.name;
        if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0) name.resize(name.size() - 4);
        const auto content = std::make_shared<const std::string>(unpack(member, allowance.left()));
        allowance.spend(content->size(), name);
        FileTensor tensor = readNpy(*content, nameOf(name));
        // Also counts the memory of the tensor's later copy in f32 or 64-bit integers.
        allowance.spend(static_cast<uint64_t>(tensor.count()) * (isFloating(tensor.element) ? 4 : 8), name);
        tensor.owner = content;
        tensors[name] = std::move(tensor);
    }
    return tensors;
}

}  // namespace mpm::models
