#pragma once

namespace mpm::kernels {

/// Applies the environment variable MPM_MAX_CPU_ISA; returns whether the variable is set. Must be called
/// before Highway chooses any kernel.
bool limitInstructionSet();
/// Whether MPM_MAX_CPU_ISA allows AMX.
bool allowsAmx();
/// Whether MPM_MAX_CPU_ISA allows instructions that multiply bf16.
bool allowsBf16();
/// Whether MPM_MAX_CPU_ISA allows instructions that multiply bytes and add the products in 32 bits.
bool allowsVnni();
/// Whether a 64-bit Arm processor has `sdot`, which adds up four products of bytes.
bool hasSdot();
/// Whether a 64-bit Arm processor has `smmla`, which multiplies two rows of bytes by two columns.
bool hasSmmla();
/// Throws cv::Exception if MPM_MAX_CPU_ISA has an unknown value.
void checkInstructionSetLimit();

}  // namespace mpm::kernels
