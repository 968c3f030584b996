# What makes an error in memory end a program instead of serving whoever caused it. tests/check_binaries.sh looks for it in
# what was built.
include(CheckPIESupported)
check_pie_supported()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>")
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
if(NOT MPM_SANITIZE)  # sanitizers check these calls themselves
  add_compile_options(
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()
