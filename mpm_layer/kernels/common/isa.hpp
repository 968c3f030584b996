#pragma once

namespace mpm::kernels {

/// Obeys MPM_MAX_CPU_ISA; true if it is set. Called once, before the first kernel is chosen.
bool limitInstructionSet();
/// Whether that leaves room for AMX.
bool allowsAmx();
/// Whether that leaves room for instructions that multiply bf16.
bool allowsBf16();
/// Whether that leaves room for instructions that multiply bytes.
bool allowsVnni();
/// Whether a 64-bit Arm processor sums up four products of bytes at once.
bool hasSdot();
/// Whether it multiplies two rows of bytes by two columns at once.
bool hasSmmla();
/// Throws cv::Exception if MPM_MAX_CPU_ISA names nothing known.
void checkInstructionSetLimit();

}  // namespace mpm::kernels
