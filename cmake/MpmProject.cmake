# Shared by all targets: language level, warnings, sanitizers, and the functions that add a test.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Programs link libmpm.a, so they need no search path for libraries (RUNPATH), and installation copies the
# built files unchanged. By default, CMake would write a RUNPATH with paths of the build folder and padding.
# The loader would read the padding as an empty entry, which means the current folder. With these settings,
# RUNPATH has only folders of libraries outside the system's folders, such as an OpenCV under /opt.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

include(MpmHarden)

find_program(MPM_CCACHE ccache)
if(MPM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${MPM_CCACHE}")
endif()

add_library(mpm_warnings INTERFACE)
target_compile_options(mpm_warnings INTERFACE -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> $<$<BOOL:${MPM_WERROR}>:-Werror>)

foreach(sanitizer IN LISTS MPM_SANITIZE)
  # With a sanitizer, GCC 12 warns falsely of uninitialized members of the standard library and of Qt.
  add_compile_options(-fsanitize=${sanitizer} -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${sanitizer})
endforeach()

if(MPM_LIBFUZZER)  # libFuzzer needs the coverage of branches
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# mpm_prefer_fast_builds(): compiles the targets that follow in this folder with -O1, which saves a quarter to
# a third of their compile time. Libraries with full optimisation do the main work of these targets.
function(mpm_prefer_fast_builds)
  add_compile_options($<$<CONFIG:Release>:-O1>)
endfunction()

# mpm_program_headers(NAME LIBRARY...): adds a target whose precompiled headers several programs share with
# REUSE_FROM NAME. The target is compiled with -fPIE, like programs and unlike libraries.
function(mpm_program_headers name)
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${name} PRIVATE ${ARGN} mpm_warnings)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
endfunction()

# mpm_add_test(NAME fast|long|gpu SOURCES ... LIBRARIES ... [HEADERS library]): a GoogleTest program and an entry of
# ctest. HEADERS names the library whose precompiled headers the test uses instead of those that all tests share; OFF
# uses none. If MPM_TESTS_NEVER_SKIP is set, a skipped case fails the test.
function(mpm_add_test name label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "HEADERS" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(NOT DEFINED arg_HEADERS)
    target_precompile_headers(${name} REUSE_FROM mpm_test_headers)
  elseif(arg_HEADERS)
    target_compile_options(${name} PRIVATE -fPIC)  # like the library
    target_precompile_headers(${name} REUSE_FROM ${arg_HEADERS})
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} mpm_warnings GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE
    MPM_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared" MPM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  # An emulated processor takes ten times as long.
  set(seconds 600)
  if(CMAKE_CROSSCOMPILING)
    set(seconds 3600)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${seconds})
  if(MPM_TESTS_NEVER_SKIP)
    set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  endif()
endfunction()

# mpm_place_models(): makes ../share/mpm, relative to this folder's build, a link to the shipped models.
# Programs search there, as after installation, so no program contains a path of the build machine.
function(mpm_place_models)
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/models/zoo")
    return()
  endif()
  cmake_path(GET CMAKE_CURRENT_BINARY_DIR PARENT_PATH parent)
  file(MAKE_DIRECTORY "${parent}/share")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/models/zoo" "${parent}/share/mpm" SYMBOLIC)
endfunction()

# mpm_find_place(KIND CHOSEN SETTING): at installation, cmake/install_modules.cmake sets MPM_PLACE to the
# folder of the module.
function(mpm_find_place kind chosen setting)
  install(CODE "set(MPM_KIND ${kind})
  set(MPM_CHOSEN \"${chosen}\")
  set(${setting})" COMPONENT ${kind})
  install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/install_modules.cmake" COMPONENT ${kind})
endfunction()
