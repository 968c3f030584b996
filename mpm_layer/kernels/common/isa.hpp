#pragma once

namespace mpm::kernels {

/// Applies the environment variable MPM_MAX_CPU_ISA; returns whether the variable is set. Must be called
/// before Highway chooses any kernel.
bool limitInstructionSet();
/// Returns whether MPM_MAX_CPU_ISA allows AMX.
bool allowsAmx();
/// Returns whether MPM_MAX_CPU_ISA allows instructions that multiply bf16.
bool allowsBf16();
/// Returns whether MPM_MAX_CPU_ISA allows instructions that multiply bytes and add the products in 32 bits.
bool allowsVnni();
/// Returns whether this is a 64-bit Arm processor with `sdot`, which adds up four products of bytes.
bool hasSdot();
/// Returns whether this is a 64-bit Arm processor with `smmla`, a product of 2 x 8 and 8 x 2 bytes.
bool hasSmmla();
/// Throws cv::Exception if MPM_MAX_CPU_ISA has an unknown value.
void checkInstructionSetLimit();

}  // namespace mpm::kernels
