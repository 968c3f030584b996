// The file that contains this code: a program, or a library that a program has loaded.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <system_error>

namespace mpm {

struct OwnFile {
    std::filesystem::path path;  ///< empty if it is not known
    bool isProgram = false;
};

/// Returns the file that contains the function at address `code`. Reads the path of a program from /proc.
/// dladdr1() gives only the command that started the program, which may be relative to another folder.
inline OwnFile ownFile(const void* code) {
    Dl_info info{};
    link_map* object = nullptr;
    void* const found = &object;
    if (!dladdr1(code, &info, static_cast<void**>(found), RTLD_DL_LINKMAP)) return {};
    const bool isProgram = !object || !object->l_name || !*object->l_name;
    std::error_code error;
    const std::filesystem::path path = isProgram ? std::filesystem::read_symlink("/proc/self/exe", error)
                                                 : std::filesystem::canonical(object->l_name, error);
    return {error ? std::filesystem::path() : path, isProgram};
}

}  // namespace mpm
