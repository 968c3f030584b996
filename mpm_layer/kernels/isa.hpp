#pragma once

namespace mpm::kernels {

/// Obeys MPM_MAX_CPU_ISA; true where it is set. Called once, before the first kernel is chosen.
bool limitInstructionSet();

}  // namespace mpm::kernels
