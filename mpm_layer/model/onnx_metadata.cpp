#include "mpm_layer/model/onnx_metadata.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>

#include <opencv2/core.hpp>

#include "base/printable.hpp"

namespace mpm {
namespace {

// Field numbers of ONNX's protobuf messages.
namespace field {
constexpr int kModelGraph = 7, kModelOpset = 8, kModelProperties = 14;
constexpr int kOpsetDomain = 1, kOpsetVersion = 2;
constexpr int kGraphInitializer = 5, kGraphInput = 11;
constexpr int kTensorName = 8;
constexpr int kValueName = 1, kValueType = 2;
constexpr int kTypeTensor = 1, kTensorType = 1, kTensorShape = 2, kShapeDim = 1, kDimValue = 1;
constexpr int kEntryKey = 1, kEntryValue = 2;
}  // namespace field

// ONNX's number for the type int64.
constexpr std::uint64_t kInt64 = 7;
constexpr std::uint64_t kLongestText = 1 << 20;
constexpr std::uint64_t kLatestDomainVersion = 3;
// Further dimensions of an input are ignored.
constexpr size_t kMostDims = 16;

// Reads Protobuf's wire format from a range of a file.
class Message {
public:
    Message(std::istream& stream, const std::string& path, std::uint64_t end)
        : m_stream(stream), m_path(path), m_end(end) {}

    /// Reads the next field; returns false at the end of the range.
    bool next() {
        if (position() >= m_end) return false;
        const std::uint64_t key = varint();
        // Field numbers begin at 1, so this check rejects a huge file of zeros at the first byte.
        if (key >> 3 == 0 || key >> 3 > kLastField) fail();
        m_field = static_cast<int>(key >> 3);
        switch (key & 7) {
            case 0:
                m_value = varint();
                break;
            case 1:
                skip(8);
                break;
            case 2:
                openBytes();
                break;
            case 5:
                skip(4);
                break;
            default:
                fail();
        }
        m_isBytes = (key & 7) == 2;
        return true;
    }

    int fieldNumber() const { return m_field; }
    bool isBytes() const { return m_isBytes; }
    std::uint64_t value() const { return m_value; }
    Message message() const { return Message(m_stream, m_path, m_bytesEnd); }
    void skipBytes() { m_stream.seekg(static_cast<std::streamoff>(m_bytesEnd)); }

    std::string text() {
        const std::uint64_t size = m_bytesEnd - position();
        if (size > kLongestText) fail();
        std::string bytes(size, '\0');
        m_stream.read(bytes.data(), static_cast<std::streamsize>(size));
        if (!m_stream) fail();
        return bytes;
    }

private:
    std::uint64_t position() { return static_cast<std::uint64_t>(m_stream.tellg()); }

    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const int byte = m_stream.get();
            if (byte == std::char_traits<char>::eof() || position() > m_end) fail();
            value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (!(byte & 0x80)) return value;
        }
        fail();
    }

    void openBytes() {
        const std::uint64_t size = varint();
        if (size > m_end - position()) fail();
        m_bytesEnd = position() + size;
    }

    void skip(int bytes) {
        m_stream.seekg(bytes, std::ios::cur);
        if (position() > m_end) fail();
    }

    [[noreturn]] void fail() const {
        CV_Error(cv::Error::StsParseError, "mpm: " + printable(m_path) + " is damaged or not an ONNX model");
    }

    static constexpr std::uint64_t kLastField = (std::uint64_t{1} << 29) - 1;

    std::istream& m_stream;
    const std::string& m_path;
    std::uint64_t m_end, m_value = 0, m_bytesEnd = 0;
    int m_field = 0;
    bool m_isBytes = false;
};

/// Calls body(message) at each length-delimited field, and skips the bytes that `body` did not read.
template <class Body>
void forEachBytes(Message message, const Body& body) {
    while (message.next()) {
        if (!message.isBytes()) continue;
        body(message);
        message.skipBytes();
    }
}

std::vector<int> readShape(const Message& shape) {
    std::vector<int> sizes;
    forEachBytes(shape, [&](Message& dim) {
        if (dim.fieldNumber() != field::kShapeDim) return;
        int size = 0;
        Message fields = dim.message();
        while (fields.next()) {
            if (fields.isBytes()) {
                fields.skipBytes();
            } else if (fields.fieldNumber() == field::kDimValue && fields.value() < 1u << 30) {
                size = static_cast<int>(fields.value());
            }
        }
        if (sizes.size() < kMostDims) sizes.push_back(size);
    });
    return sizes;
}

struct Input {
    std::string name;
    std::vector<int> shape;
    bool isInt64 = false;
};

void readTensorType(Message tensor, Input& input) {
    while (tensor.next()) {
        if (!tensor.isBytes()) {
            if (tensor.fieldNumber() == field::kTensorType) input.isInt64 = tensor.value() == kInt64;
            continue;
        }
        if (tensor.fieldNumber() == field::kTensorShape) input.shape = readShape(tensor.message());
        tensor.skipBytes();
    }
}

Input readInput(const Message& value) {
    Input input;
    forEachBytes(value, [&](Message& part) {
        if (part.fieldNumber() == field::kValueName) input.name = part.text();
        if (part.fieldNumber() != field::kValueType) return;
        forEachBytes(part.message(), [&](Message& type) {
            if (type.fieldNumber() == field::kTypeTensor) readTensorType(type.message(), input);
        });
    });
    return input;
}

void readGraph(const Message& graph, OnnxMetadata& metadata) {
    std::vector<Input> inputs;
    std::set<std::string> weights;
    forEachBytes(graph, [&](Message& part) {
        if (part.fieldNumber() == field::kGraphInput) inputs.push_back(readInput(part.message()));
        if (part.fieldNumber() == field::kGraphInitializer) {
            forEachBytes(part.message(), [&](Message& tensor) {
                if (tensor.fieldNumber() == field::kTensorName) weights.insert(tensor.text());
            });
        }
    });
    for (const Input& input : inputs) {
        if (input.isInt64) metadata.int64Inputs.insert(input.name);
    }
    const auto image = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const Input& input) { return !weights.count(input.name); });
    if (image == inputs.end()) return;
    metadata.input = image->name;
    metadata.inputShape = image->shape;
}

// Returns the version if the domain is `mpm`, else 0.
std::uint64_t readOpset(Message opset) {
    std::string domain;
    std::uint64_t version = 0;
    while (opset.next()) {
        if (opset.isBytes()) {
            if (opset.fieldNumber() == field::kOpsetDomain) domain = opset.text();
            opset.skipBytes();
        } else if (opset.fieldNumber() == field::kOpsetVersion) {
            version = opset.value();
        }
    }
    return domain == "mpm" ? version : 0;
}

}  // namespace

OnnxMetadata readOnnxMetadata(const std::string& path) {
    // A pipe could block the reader, and a device could be endless.
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown))
        CV_Error(cv::Error::StsBadArg, "mpm: " + printable(path) + " is not a file; expected an ONNX model");
    std::ifstream stream(path, std::ios::binary | std::ios::ate);
    if (!stream) CV_Error(cv::Error::StsObjectNotFound, "mpm: cannot open model file " + printable(path));
    const std::uint64_t size = static_cast<std::uint64_t>(stream.tellg());
    stream.seekg(0);
    OnnxMetadata metadata;
    bool hasGraph = false;
    std::uint64_t version = 0;
    forEachBytes(Message(stream, path, size), [&](Message& part) {
        if (part.fieldNumber() == field::kModelGraph) {
            readGraph(part.message(), metadata);
            hasGraph = true;
        }
        if (part.fieldNumber() == field::kModelOpset) version = std::max(version, readOpset(part.message()));
        if (part.fieldNumber() == field::kModelProperties) {
            std::string key, value;
            const auto isOurs = [&] { return key.rfind("mpm.", 0) == 0; };
            forEachBytes(part.message(), [&](Message& entry) {
                if (entry.fieldNumber() == field::kEntryKey) key = entry.text();
                if (entry.fieldNumber() == field::kEntryValue && (key.empty() || isOurs()))
                    value = entry.text();
            });
            if (isOurs()) metadata.properties[key] = value;
        }
    });
    if (!hasGraph)
        CV_Error(cv::Error::StsParseError, "mpm: " + printable(path) + " is damaged or not an ONNX model");
    if (version > kLatestDomainVersion) {
        CV_Error(cv::Error::StsNotImplemented, "mpm: " + printable(path) + " has version " +
                                                   std::to_string(version) +
                                                   " of the domain mpm; this library reads versions 1 to " +
                                                   std::to_string(kLatestDomainVersion));
    }
    return metadata;
}

namespace {

using nlohmann::json;

constexpr int kLargestClass = 1'000'000;

/// Reads the members of an object, and records whether all have the expected types and values.
class Members {
public:
    explicit Members(const json& object) : m_object(object) {}

    void name(const char* key, std::string& target) {
        if (const json* value = find(key)) {
            if (value->is_string())
                target = value->get<std::string>();
            else
                m_fits = false;
        }
    }
    template <class Choice>
    void choice(const char* key, std::initializer_list<std::pair<const char*, Choice>> choices,
                Choice& target) {
        if (find(key) == nullptr) return;
        std::string text;
        name(key, text);
        bool found = false;
        for (const auto& [word, value] : choices)
            if (word == text) target = value, found = true;
        m_fits = m_fits && found;
    }
    void index(const char* key, int& target) {
        const json* value = find(key);
        if (value == nullptr) return;
        const double number = value->is_number() ? value->get<double>() : -1;
        if (number >= 0 && number <= kLargestClass && number == static_cast<int>(number))
            target = static_cast<int>(number);
        else
            m_fits = false;
    }
    bool fit() const { return m_fits; }

private:
    /// Returns null if the member is absent or null.
    const json* find(const char* key) const {
        const auto at = m_object.find(key);
        return at == m_object.end() || at->is_null() ? nullptr : &*at;
    }

    const json& m_object;
    bool m_fits = true;
};

}  // namespace

std::optional<DetectionOutputs> detectionOutputsFrom(const json& value) {
    if (!value.is_object()) return std::nullopt;
    DetectionOutputs outputs;
    Members members(value);
    members.name("boxes", outputs.boxes);
    members.name("scores", outputs.scores);
    members.name("masks", outputs.masks);
    members.name("labels", outputs.labels);
    members.choice("format", {{"cxcywh", BoxFormat::CxCyWh}, {"xyxy", BoxFormat::XyXy}}, outputs.format);
    members.choice("scale", {{"unit", BoxScale::Unit}, {"pixels", BoxScale::Pixels}}, outputs.scale);
    members.choice("activation",
                   {{"sigmoid", ScoreActivation::Sigmoid},
                    {"softmax", ScoreActivation::Softmax},
                    {"none", ScoreActivation::None}},
                   outputs.activation);
    members.index("background", outputs.background);
    // `size_input` is a name, or an object with a name and an order.
    const auto size = value.find("size_input");
    const bool isObject = size != value.end() && size->is_object();
    Members input(isObject ? *size : value);
    input.name(isObject ? "name" : "size_input", outputs.sizeInput);
    input.choice(isObject ? "order" : "size_order", {{"wh", SizeOrder::Wh}, {"hw", SizeOrder::Hw}},
                 outputs.sizeOrder);
    const bool named = !outputs.boxes.empty() && !outputs.scores.empty() && outputs.boxes != outputs.scores;
    // If the network outputs labels, the scores are final, so no activation is allowed.
    const bool chosen = outputs.labels.empty() || outputs.activation == ScoreActivation::None;
    if (!members.fit() || !input.fit() || !named || !chosen) return std::nullopt;
    return outputs;
}

}  // namespace mpm
