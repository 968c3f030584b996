// The rule of a normalisation layer (norm), without its weights. The kinds of norms and their names are
// listed only here, for attributes of operators, nodes of exports and descriptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpm {

/// The numbers are part of the interface to the GPU's library.
enum class NormKind : std::int32_t {
    Layer = 0,
    Rms = 1  ///< divides by the root mean square, keeps the mean
};

struct NormRule {
    float epsilon = 1e-6f;
    NormKind kind = NormKind::Layer;
};

inline bool operator==(const NormRule& a, const NormRule& b) {
    return a.epsilon == b.epsilon && a.kind == b.kind;
}
inline bool operator!=(const NormRule& a, const NormRule& b) {
    return !(a == b);
}

struct NormNames {
    NormKind kind;
    const char* attribute;  ///< value of the attribute `norm`
    const char* title;
    const char* onnx;  ///< the standard operator
};

/// In the order of NormKind's numbers.
inline const std::vector<NormNames>& normNames() {
    static const std::vector<NormNames> kAll{{NormKind::Layer, "layer", "LayerNorm", "LayerNormalization"},
                                             {NormKind::Rms, "rms", "RMSNorm", "RMSNormalization"}};
    return kAll;
}

inline const NormNames& namesOf(NormKind kind) {
    return normNames().at(static_cast<std::size_t>(kind));
}

}  // namespace mpm
