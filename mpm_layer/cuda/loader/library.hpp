// libmpm_cuda, found and checked at run time: the same program runs with and without a GPU.
#pragma once

#include <memory>
#include <string>

#include "mpm_layer/cuda/interface/entry.h"

namespace mpm::cuda {

/// A loaded library of the version that this code was built for.
class Library {
public:
    /// The library MPM_CUDA_LIBRARY, else libmpm_cuda.so beside this build or on the loader's search path.
    /// Throws with the reason if none can be loaded.
    static std::shared_ptr<const Library> load();
    /// The file at `path`; load() does not return it later.
    static std::shared_ptr<const Library> open(const std::string& path);

    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    const MpmCudaEntry& entry() const { return *m_entry; }
    /// Throws if there is no driver or no device.
    int devices() const;
    /// Throws if a device of that number does not exist.
    void checkDevice(int index) const;

private:
    Library(void* handle, const MpmCudaEntry* entry) : m_handle(handle), m_entry(entry) {}

    void* m_handle;
    const MpmCudaEntry* m_entry;
};

}  // namespace mpm::cuda
