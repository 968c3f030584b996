#include <nlohmann/json.hpp>

#include "models/torch/files/file_error.hpp"
#include "models/torch/files/file_tensors.hpp"

namespace mpm::models {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeader = std::uint64_t{16} << 20;  // enough for 100,000 tensors
constexpr int kMaxHeaderDepth = 3;                             // as in {"name": {"shape": [1]}}

struct Parts {
    Json header;
    std::string_view data;
};

Parts partsOf(std::string_view bytes) {
    demand(bytes.size() >= 8, "safetensors: the header is missing");
    const std::uint64_t length = littleEndian(bytes.substr(0, 8));
    demand(length <= bytes.size() - 8, "safetensors: the header is longer than the file");
    demand(length <= kMaxHeader, "safetensors: the header is larger than allowed");
    const auto shallow = [](int depth, Json::parse_event_t, const Json&) {
        demand(depth <= kMaxHeaderDepth, "safetensors: the header is nested too deeply");
        return true;
    };
    Parts parts{Json::parse(bytes.substr(8, length), shallow, false), bytes.substr(8 + length)};
    demand(parts.header.is_object(), "safetensors: the header is no JSON object");
    return parts;
}

template <class Number>
std::vector<Number> numbersAt(const Json& entry, const char* key, std::size_t most) {
    const Json& list = entry.at(key);
    demand(list.is_array() && list.size() <= most, "safetensors: ", key, " must be a list of at most ", most,
           " numbers");
    std::vector<Number> numbers;
    for (const Json& number : list) {
        // JSON also allows numbers that cannot be sizes: -1, 1.5 and 2^64.
        demand(number.is_number_unsigned() && number.get<std::uint64_t>() <= INT64_MAX, "safetensors: ", key,
               " must hold whole numbers");
        numbers.push_back(number.get<Number>());
    }
    return numbers;
}

FileTensor tensorOf(const Json& entry, const std::string& name, std::string_view data) {
    const auto type = entry.at("dtype").get<std::string>();
    const auto element = elementNamed(&ElementNames::safetensors, type);
    demand(element.has_value(), "safetensors: ", nameOf(name), " has the unknown type ", nameOf(type));
    const auto range = numbersAt<std::uint64_t>(entry, "data_offsets", 2);
    demand(range.size() == 2 && range[0] <= range[1] && range[1] <= data.size(),
           "safetensors: ", nameOf(name), " lies outside the file");
    return denseTensor(data.substr(range[0], range[1] - range[0]), *element,
                       numbersAt<std::int64_t>(entry, "shape", 8), name);
}

}  // namespace

FileTensors safetensorsTensors(std::string_view bytes) {
    const Parts parts = partsOf(bytes);
    std::uint64_t left = parts.data.size();
    FileTensors tensors;
    for (const auto& [name, entry] : parts.header.items()) {
        if (name == "__metadata__") continue;
        try {
            const FileTensor tensor = tensorOf(entry, name, parts.data);
            demand(tensor.bytes.size() <= left, "safetensors: ", nameOf(name),
                   " shares its data with others");
            left -= tensor.bytes.size();
            tensors[name] = tensor;
        } catch (const Json::exception&) {
            throw FileError("safetensors: the entry of " + nameOf(name) + " is damaged");
        }
    }
    return tensors;
}

std::map<std::string, std::string> safetensorsTexts(std::string_view bytes) {
    const Parts parts = partsOf(bytes);
    std::map<std::string, std::string> texts;
    const auto found = parts.header.find("__metadata__");
    if (found == parts.header.end()) return texts;
    demand(found->is_object(), "safetensors: __metadata__ must be an object of texts");
    for (const auto& [name, text] : found->items()) {
        demand(text.is_string(), "safetensors: __metadata__ must be an object of texts");
        texts[name] = text.get<std::string>();
    }
    return texts;
}

}  // namespace mpm::models
