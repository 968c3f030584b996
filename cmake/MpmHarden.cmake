# Flags that end a program at a memory error instead of leaving it exploitable, and that keep paths of the build machine out of
# the binaries. tests/check_binaries.sh checks the built files for each.
include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported()
check_cxx_compiler_flag(-fstack-clash-protection MPM_HAS_STACK_CLASH_PROTECTION)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>")
if(MPM_HAS_STACK_CLASH_PROTECTION)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fstack-clash-protection>")
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)

# An index outside of a standard container ends the program. The vector kernels go without (mpm_layer/CMakeLists.txt): their
# loops run over plain pointers, which their callers have checked.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-D_GLIBCXX_ASSERTIONS>")

# A compiler may define a level already, and defining another is a warning: hence -U first. Sanitizers check these calls
# themselves, and without optimization there is nothing to check by.
if(NOT MPM_SANITIZE)
  add_compile_options(
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

# Messages contain paths relative to the project, wherever it was built. Debuggers still get whole paths.
foreach(folder IN ITEMS "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${folder}/=>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fmacro-prefix-map=${folder}/=>")
endforeach()
