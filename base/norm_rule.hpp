// The rule of a normalisation layer (norm), without the weights. Only this file lists the kinds of norms and
// their names in operator attributes, ONNX nodes and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpm {

/// The values of the enumerators must not change: they are part of the interface to libmpm_cuda, the library
/// for GPUs.
enum class NormKind : std::int32_t {
    Layer = 0,
    Rms = 1  ///< divides by the root mean square; does not subtract the mean
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
    const char* onnx;  ///< the operator's type in ONNX
};

/// Returns the names in the order of NormKind, because namesOf() uses the kind as the index.
inline const std::vector<NormNames>& normNames() {
    static const std::vector<NormNames> kAll{{NormKind::Layer, "layer", "LayerNorm", "LayerNormalization"},
                                             {NormKind::Rms, "rms", "RMSNorm", "RMSNormalization"}};
    return kAll;
}

inline const NormNames& namesOf(NormKind kind) {
    return normNames().at(static_cast<std::size_t>(kind));
}

}  // namespace mpm
