#pragma once

namespace mpm::kernels {

/// Applies MPM_MAX_CPU_ISA; returns true if it is set. Called once, before the first kernel is chosen.
bool limitInstructionSet();
/// Whether this limit allows AMX.
bool allowsAmx();
/// Whether this limit allows instructions that multiply bf16.
bool allowsBf16();
/// Whether this limit allows instructions that multiply bytes.
bool allowsVnni();
/// Whether a 64-bit Arm processor has `sdot`, which adds up four products of bytes at once.
bool hasSdot();
/// Whether a 64-bit Arm processor has `smmla`, which multiplies two rows of bytes by two columns at once.
bool hasSmmla();
/// Throws cv::Exception if MPM_MAX_CPU_ISA has an unknown value.
void checkInstructionSetLimit();

}  // namespace mpm::kernels
