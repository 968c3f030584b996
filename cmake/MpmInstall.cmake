# The files that `cmake --install` installs, the CMake package, the pkg-config file, and the Debian packages.
include(CMakePackageConfigHelpers)
find_package(OpenCV REQUIRED COMPONENTS core imgproc dnn)

set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS  # for any umask
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(MPM_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/mpm")

# Programs see the interface of the public headers only; the soname changes with that interface.
set_target_properties(mpm PROPERTIES EXPORT_NAME layer VERSION ${PROJECT_VERSION} SOVERSION 0)
set_target_properties(mpm_static PROPERTIES EXPORT_NAME layer_static OUTPUT_NAME mpm)

# Two export sets: a user of the shared library needs no library that the static library depends on.
install(TARGETS mpm EXPORT mpmSharedTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS mpm_static EXPORT mpmStaticTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/mpm_layer/include/mpm" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
foreach(kind IN ITEMS Shared Static)
  install(EXPORT mpm${kind}Targets NAMESPACE mpm:: DESTINATION "${MPM_CMAKE_DIR}" COMPONENT dev)
endforeach()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/mpmConfig.cmake.in" "${PROJECT_BINARY_DIR}/mpmConfig.cmake"
  INSTALL_DESTINATION "${MPM_CMAKE_DIR}" NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/mpmConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
# mpm.pc contains the prefix as a path relative to the folder of mpm.pc, because `cmake --install --prefix`
# may install to any folder.
file(RELATIVE_PATH MPM_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" MPM_PC_TO_PREFIX "${MPM_PC_TO_PREFIX}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/mpm.pc.in" "${PROJECT_BINARY_DIR}/mpm.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/mpmConfig.cmake" "${PROJECT_BINARY_DIR}/mpmConfigVersion.cmake"
  DESTINATION "${MPM_CMAKE_DIR}" COMPONENT dev)
install(FILES "${PROJECT_BINARY_DIR}/mpm.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)
install(FILES "${PROJECT_SOURCE_DIR}/docs/reference/operators.md" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libmpm-dev" COMPONENT dev)
# Installs the library's sources as a module for OpenCV's own build. make.sh writes the module to a temporary
# folder, because root may install from a user's build folder, and several installations may run at once.
install(CODE "
  execute_process(COMMAND mktemp -d OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND sh \"${PROJECT_SOURCE_DIR}/mpm_layer/opencv_module/make.sh\" \"${PROJECT_SOURCE_DIR}\"
    \"\${folder}/opencv_module\" ${PROJECT_VERSION} COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/mpm\" TYPE DIRECTORY FILES \"\${folder}/opencv_module\")
  file(REMOVE_RECURSE \"\${folder}\")" COMPONENT dev)
if(EXISTS "${PROJECT_SOURCE_DIR}/models/zoo")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/models/zoo/" DESTINATION "${CMAKE_INSTALL_DATADIR}/mpm" COMPONENT tools
    FILES_MATCHING PATTERN "*.onnx" PATTERN "README.md")
endif()

include(MpmPackage)
