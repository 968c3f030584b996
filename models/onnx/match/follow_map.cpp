#include "models/onnx/match/state.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {
namespace {

// Tests for all n whether image row n of a decoder's input depends only on the backbone's image token n. For
// each bit of n, changes the tokens whose n lacks this bit and evaluates the graph, then does the same with
// the other tokens. Each time, exactly the rows of the changed tokens must change.
class RowFollower {
public:
    RowFollower(const State& state, const EncoderSpec& backbone, const EncoderSpec& decoder)
        : m_backbone(backbone), m_decoder(decoder), m_part(state.graph) {
        const auto last = std::find_if(backbone.taps.begin(), backbone.taps.end(),
                                       [&](const Tap& tap) { return tap.block == backbone.endBlock() - 1; });
        if (last == backbone.taps.end()) return;
        m_source = last->value;
        m_part.inputs.push_back(Port::of(m_source));
        m_part.outputs = {Port::of(decoder.input())};
        m_part.release(m_source);
        m_part.prune();
        for (const Port& port : m_part.inputs)
            m_inputs.push_back(noiseLike(state.shapes.at.values[port.value], 1));
    }

    std::optional<OtherRows> find() {
        const int64_t tokens = m_backbone.imageTokens();
        if (m_source == kAbsent || tokens < 1 || m_decoder.tokens < tokens ||
            m_decoder.blocks[0].batch != m_backbone.blocks[0].batch)
            return std::nullopt;
        m_plain = run([](int64_t) { return false; });
        const List<char> all = changed([](int64_t) { return true; });
        const int64_t front = std::find(all.begin(), all.end(), 1) - all.begin();
        if (front + tokens > m_decoder.tokens) return std::nullopt;
        for (int bit = 0; (int64_t{1} << bit) < tokens; ++bit) {
            for (const int64_t wanted : {0, 1}) {
                const auto test = [&](int64_t token) { return (token >> bit & 1) == wanted; };
                if (!follows(changed(test), front, test)) return std::nullopt;
            }
        }
        return OtherRows{checkedCast<int>(front), checkedCast<int>(m_decoder.tokens - front - tokens)};
    }

private:
    using Test = std::function<bool(int64_t token)>;

    bool follows(const List<char>& rows, int64_t front, const Test& test) const {
        const int64_t tokens = m_backbone.imageTokens();
        for (int64_t row = 0; row < m_decoder.tokens; ++row) {
            const int64_t token = row - front;
            const bool image = token >= 0 && token < tokens;
            if ((rows[row] != 0) != (image && test(token))) return false;
        }
        return true;
    }

    Tensor run(const Test& replaced) const {
        List<Tensor> inputs = m_inputs;
        for (size_t k = 0; k < inputs.size(); ++k) {
            if (m_part.inputs[k].value != m_source) continue;
            const Tensor other = noiseLike(inputs[k], 2);
            Tensor mixed = Tensor::zeros(inputs[k].type(), inputs[k].shape());
            std::copy(inputs[k].f() + 0, inputs[k].f() + inputs[k].size(), mixed.writeF() + 0);
            for (int64_t image = 0; image < m_backbone.blocks[0].batch; ++image) {
                for (int64_t token = 0; token < m_backbone.imageTokens(); ++token) {
                    if (!replaced(token)) continue;
                    const int64_t at = m_backbone.rowOf(image, m_backbone.special + token) * m_backbone.dim;
                    for (int64_t c = at; c < at + m_backbone.dim; ++c)
                        mixed.writeF()[c] = other.f()[c];
                }
            }
            inputs[k] = mixed;
        }
        return evaluate(m_part, inputs)[0];
    }

    // Returns, for each row of the first image, whether the row changes if the `replaced` tokens change.
    List<char> changed(const Test& replaced) const {
        checkTime();
        const Tensor now = run(replaced);
        List<char> rows(m_decoder.tokens, 0);
        for (int64_t row = 0; row < m_decoder.tokens; ++row) {
            const int64_t at = m_decoder.rowOf(0, row) * m_decoder.dim;
            for (int64_t c = at; c < at + m_decoder.dim; ++c)
                rows[row] |= now.f()[c] != m_plain.f()[c];
        }
        return rows;
    }

    const EncoderSpec& m_backbone;
    const EncoderSpec& m_decoder;
    Graph m_part;
    int m_source = kAbsent;
    List<Tensor> m_inputs;
    Tensor m_plain;
};

}  // namespace

bool followsMap(const State& state) {
    const List<EncoderSpec>& all = state.match.encoders;
    return std::any_of(all.begin(), all.end(), [](const EncoderSpec& e) { return e.decoder && e.takesMap; });
}

void mergeDecoders(State& state, std::vector<std::string>& notes) {
    const EncoderSpec* last = state.match.segments().back();
    const auto decodes = [](const EncoderSpec& e) { return e.decoder; };
    if (std::none_of(state.match.encoders.begin(), state.match.encoders.end(), decodes))
        notes.push_back(
            "--decoder merged changes nothing: behind the encoder are no transformer blocks that could "
            "compute "
            "merged tokens");
    for (EncoderSpec& decoder : state.match.encoders) {
        if (!decoder.decoder || decoder.takesMap) continue;
        const auto rows = RowFollower(state, *last, decoder).find();
        if (!rows) {
            notes.push_back(
                "a decoder does not read the encoder's tokens row by row: it computes all tokens");
            continue;
        }
        decoder.special = rows->special;
        decoder.trailing = rows->trailing;
        decoder.takesMap = true;
    }
    const bool follows = followsMap(state);
    for (EncoderSpec& encoder : state.match.encoders)
        if (&encoder == last && follows) encoder.givesMap = true;
}

void connectMaps(State& state) {
    int map = kAbsent;
    auto encoder = state.match.encoders.begin();
    for (Node& node : state.graph.nodes) {
        if (node.domain != "mpm" || node.op != "MpmEncoder") continue;
        const EncoderSpec& spec = *encoder++;
        const bool had = node.getInt("map_output", 0) != 0;
        if (spec.givesMap && !had) {
            node.set("map_output", 1);
            node.outputs.push_back(state.graph.addValue("map"));
        }
        if (spec.givesMap) map = node.outputs.back();
        const std::string names = node.getString("inputs", "");
        if (!spec.takesMap || !spec.decoder || names.rfind("tokens map", 0) == 0) continue;
        node.inputs.insert(node.inputs.begin() + 1, map);
        node.set("inputs", "tokens map" + names.substr(std::string("tokens").size()));
        node.set("special_tokens", spec.special);
        if (spec.trailing > 0) node.set("trailing_tokens", spec.trailing);
    }
    state.graph.sort();
}

}  // namespace mpm::models
