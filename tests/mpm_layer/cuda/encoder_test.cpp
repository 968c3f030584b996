// The encoder on a GPU: the suite of every device. Skips, with the reason, where there is none.
#include "mpm_layer/encoder_suite.hpp"

namespace mpm::test {
namespace {

MPM_INSTANTIATE_ENCODER_SUITE(Cuda, (Target{"F32", Device::Cuda, Precision::F32, 1e-4, true}),
                              (Target{"Tf32", Device::Cuda, Precision::TF32, 5e-3, false}),
                              (Target{"Bf16", Device::Cuda, Precision::BF16, 2e-2, false}),
                              (Target{"F16", Device::Cuda, Precision::F16, 5e-3, false}));

}  // namespace
}  // namespace mpm::test
