// libmpm_cuda, found and checked at run time: the same program runs with and without a GPU.
#pragma once

#include <memory>
#include <string>

#include "mpm_layer/cuda/entry.h"

namespace mpm::cuda {

/// A loaded library of the version that this code was built for.
class Library {
public:
    /// Looks at MPM_CUDA_LIBRARY, or else where this build lies and along the search path of the loader.
    /// Throws with what is missing.
    static std::shared_ptr<const Library> load();
    /// The file at `path`, which is not kept for others.
    static std::shared_ptr<const Library> open(const std::string& path);

    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    const MpmCudaEntry& entry() const { return *m_entry; }
    /// Throws where there is no driver or no device.
    int devices() const;
    /// Throws where a device of that number does not exist.
    void checkDevice(int index) const;

private:
    Library(void* handle, const MpmCudaEntry* entry) : m_handle(handle), m_entry(entry) {}

    void* m_handle;
    const MpmCudaEntry* m_entry;
};

}  // namespace mpm::cuda
