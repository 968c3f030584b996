// Registers the operators when the shared library is loaded, because LD_PRELOAD or ctypes calls no function
// that could register them.
#include <mpm/mpm.hpp>

namespace {

struct RegisterOnLoad {
    RegisterOnLoad() { mpm::registerLayers(); }
};
const RegisterOnLoad g_registerOnLoad;

}  // namespace
