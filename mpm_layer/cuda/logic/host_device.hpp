// For code that runs on the device and, in the tests, on the CPU.
#pragma once

#ifdef __CUDACC__
#define MPM_HOST_DEVICE __host__ __device__
#else
#define MPM_HOST_DEVICE
#endif
