# Flags that end a program at a memory error, before an attacker can use the error, and flags that keep paths
# of the build machine out of the binaries. tests/check_binaries.sh checks the built files for each flag.
include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported()
check_cxx_compiler_flag(-fstack-clash-protection MPM_HAS_STACK_CLASH_PROTECTION)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>")
if(MPM_HAS_STACK_CLASH_PROTECTION)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fstack-clash-protection>")
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)

# Ends the program if an index is outside of a standard container. mpm_layer/CMakeLists.txt switches this
# check off for the vector kernels: their loops use plain pointers, and the callers check the sizes.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-D_GLIBCXX_ASSERTIONS>")

# Checks calls such as memcpy(). -U is first, because a compiler may already define a level, and a second
# definition gives a warning. Sanitizers check these calls themselves. The checks need optimization.
if(NOT MPM_SANITIZE)
  add_compile_options(
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

# Makes paths in messages relative to the source or build folder. Debuggers still get whole paths.
foreach(folder IN ITEMS "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${folder}/=>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fmacro-prefix-map=${folder}/=>")
endforeach()
