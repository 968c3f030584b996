#include "mpm_layer/model/onnx_metadata.hpp"

namespace mpm {
namespace {

using nlohmann::json;

constexpr int kLargestClass = 1'000'000;

/// Reads the members of one object; remembers whether all were as expected.
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
    /// Null stands for a member that is absent.
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
    // A name, or an object of name and order.
    const auto size = value.find("size_input");
    const bool isObject = size != value.end() && size->is_object();
    Members input(isObject ? *size : value);
    input.name(isObject ? "name" : "size_input", outputs.sizeInput);
    input.choice(isObject ? "order" : "size_order", {{"wh", SizeOrder::Wh}, {"hw", SizeOrder::Hw}},
                 outputs.sizeOrder);
    const bool named = !outputs.boxes.empty() && !outputs.scores.empty() && outputs.boxes != outputs.scores;
    // Labels belong to scores that the network has already chosen.
    const bool chosen = outputs.labels.empty() || outputs.activation == ScoreActivation::None;
    if (!members.fit() || !input.fit() || !named || !chosen) return std::nullopt;
    return outputs;
}

}  // namespace mpm
