// Registers the operators when the shared library is loaded: with LD_PRELOAD or ctypes, nothing else is
// called.
#include <mpm/mpm.hpp>

namespace {

struct RegisterOnLoad {
    RegisterOnLoad() { mpm::registerLayers(); }
};
const RegisterOnLoad g_registerOnLoad;

}  // namespace
