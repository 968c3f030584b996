// Registers the operators when the shared library is loaded, because after LD_PRELOAD or ctypes no function
// is called.
#include <mpm/mpm.hpp>

namespace {

struct RegisterOnLoad {
    RegisterOnLoad() { mpm::registerLayers(); }
};
const RegisterOnLoad g_registerOnLoad;

}  // namespace
