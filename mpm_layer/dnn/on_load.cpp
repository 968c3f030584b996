// Only in the shared library: a program that merely loads it (LD_PRELOAD, ctypes) has the operators.
#include <mpm/mpm.hpp>

namespace {

struct RegisterOnLoad {
    RegisterOnLoad() { mpm::registerLayers(); }
};
const RegisterOnLoad g_registerOnLoad;

}  // namespace
