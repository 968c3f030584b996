#pragma once

namespace mpm::kernels {

/// Applies the environment variable MPM_MAX_CPU_ISA; returns whether the variable is set. Must be called
/// before Highway chooses any kernel.
bool limitInstructionSet();
/// Whether the limit allows AMX, products of bf16 and products of bytes, respectively.
bool allowsAmx();
bool allowsBf16();
bool allowsVnni();
/// Whether a 64-bit Arm processor has `sdot`, which adds up four products of bytes.
bool hasSdot();
/// Whether a 64-bit Arm processor has `smmla`, which multiplies two rows of bytes by two columns.
bool hasSmmla();
/// Throws cv::Exception if MPM_MAX_CPU_ISA has an unknown value.
void checkInstructionSetLimit();

}  // namespace mpm::kernels
