#pragma once

namespace mpm::kernels {

/// Obeys MPM_MAX_CPU_ISA; true where it is set. Called once, before the first kernel is chosen.
bool limitInstructionSet();
/// Whether that leaves room for AMX.
bool allowsAmx();

}  // namespace mpm::kernels
