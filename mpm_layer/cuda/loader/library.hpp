// libmpm_cuda, which is found and checked at run time, so that the same program runs with and without a GPU.
#pragma once

#include <memory>
#include <string>

#include "mpm_layer/cuda/interface/entry.h"

namespace mpm::cuda {

/// The loaded libmpm_cuda, whose interface has the version that this code was built for.
class Library {
public:
    /// Loads the file that the environment variable MPM_CUDA_LIBRARY names. Without this variable, loads
    /// libmpm_cuda.so next to this build or on the loader's search path. If loading fails, throws with the
    /// reason.
    static std::shared_ptr<const Library> load();
    /// Loads the file at `path`; does not change the result of load().
    static std::shared_ptr<const Library> open(const std::string& path);

    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    const MpmCudaEntry& entry() const { return *m_entry; }
    /// Returns the number of devices. Throws if there is no driver or no device.
    int devices() const;
    /// Throws if there is no device with this index.
    void checkDevice(int index) const;

private:
    Library(void* handle, const MpmCudaEntry* entry) : m_handle(handle), m_entry(entry) {}

    void* m_handle;
    const MpmCudaEntry* m_entry;
};

}  // namespace mpm::cuda
