// Registers the operators when the shared library is loaded. A program that loads the library through
// LD_PRELOAD or ctypes may never call registerLayers().
#include <mpm/mpm.hpp>

namespace {

struct RegisterOnLoad {
    RegisterOnLoad() { mpm::registerLayers(); }
};
const RegisterOnLoad g_registerOnLoad;

}  // namespace
