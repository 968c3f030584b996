#include "mpm_layer/cuda/loader/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include <opencv2/core.hpp>

#include "base/own_file.hpp"

namespace mpm::cuda {
namespace {

constexpr const char* kFile = "libmpm_cuda.so";

[[noreturn]] void refuse(const std::string& why) {
    CV_Error(cv::Error::StsNotImplemented, "mpm: device cuda is not usable: " + why);
}

// Returns the folders that may contain this build's library. For libmpm.so: its own folder. For a program
// that contains libmpm.a: the folders of the program and of the libraries installed with the program.
std::vector<std::string> ownFolders() {
    const OwnFile own = ownFile(reinterpret_cast<void*>(&ownFolders));
    if (own.path.empty()) return {};
    std::vector<std::string> folders = {own.path.parent_path()};
    if (own.isProgram)
        folders.push_back((own.path.parent_path() / MPM_LIBRARIES_FROM_PROGRAM).lexically_normal());
    return folders;
}

/// Returns the library's path in the first folder that has the library. If no folder has the library, returns
/// the file name, for which the loader then searches.
std::string ownLibrary() {
    for (const std::string& folder : ownFolders())
        if (const std::string file = folder + "/" + kFile; access(file.c_str(), R_OK) == 0) return file;
    return kFile;
}

std::string lastLoaderError() {
    const char* text = dlerror();
    return text ? text : "no reason given by the loader";
}

/// Returns why a library was not loaded. Does not call dlerror() if the library was not found, as on most
/// machines: dlerror() of glibc 2.41 crashes if memory for the text runs out.
std::string whyNotLoaded(const std::string& path) {
    return path == kFile ? "none is beside libmpm, and the loader finds none" : lastLoaderError();
}

}  // namespace

std::shared_ptr<const Library> Library::load() {
    // A failed load is tried again, since the environment may have changed. The static objects are never
    // destroyed, since a network may outlive them.
    static std::mutex& guard = *new std::mutex;
    static auto& loaded = *new std::shared_ptr<const Library>;
    static auto& loadedFrom = *new std::string;
    const std::lock_guard<std::mutex> lock(guard);
    const char* chosen = std::getenv("MPM_CUDA_LIBRARY");
    const std::string wanted = chosen ? chosen : "";
    if (loaded && loadedFrom == wanted) return loaded;

    loaded = open(wanted.empty() ? ownLibrary() : wanted);
    loadedFrom = wanted;
    return loaded;
}

std::shared_ptr<const Library> Library::open(const std::string& path) {
    // CUDA's runtime cannot be unloaded safely, so an opened library stays mapped.
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) refuse("library " + path + " cannot be loaded (" + whyNotLoaded(path) + ")");
    std::unique_ptr<void, int (*)(void*)> closer(handle, dlclose);
    const auto function = reinterpret_cast<MpmCudaEntryFunction>(dlsym(handle, MPM_CUDA_ENTRY_NAME));
    if (!function) refuse("library " + path + " has no function " MPM_CUDA_ENTRY_NAME);
    const MpmCudaEntry* entry = function(MPM_CUDA_ENTRY_VERSION);
    const bool fits =
        entry && entry->version == MPM_CUDA_ENTRY_VERSION && entry->size == sizeof(MpmCudaEntry);
    if (!fits) {
        const std::string theirs = entry ? cv::format("version %u of %u bytes", entry->version, entry->size)
                                         : std::string("other versions only");
        refuse(
            cv::format("library %s is stale: its interface has %s, expected version %u of %u bytes; install "
                       "both libraries from one build",
                       path.c_str(), theirs.c_str(), MPM_CUDA_ENTRY_VERSION,
                       static_cast<unsigned>(sizeof(MpmCudaEntry))));
    }
    std::shared_ptr<const Library> library(new Library(handle, entry));
    closer.release();
    return library;
}

Library::~Library() {
    dlclose(m_handle);
}

int Library::devices() const {
    int32_t count = 0;
    MpmCudaError error{};
    if (m_entry->device_count(&count, &error) != MPM_CUDA_OK) refuse(error.text);
    if (count < 1) refuse("the driver finds no device");
    return count;
}

void Library::checkDevice(int index) const {
    const int count = devices();
    if (index < 0 || index >= count) {
        refuse(cv::format("device index %d was asked for, but there %s %d", index, count == 1 ? "is" : "are",
                          count));
    }
}

}  // namespace mpm::cuda
