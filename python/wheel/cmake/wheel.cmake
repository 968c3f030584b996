# The wheel's library uses the libraries that python/wheel/parts.sh builds, instead of Debian's shared libraries.
set(MPM_WHEEL_FILES "${PROJECT_SOURCE_DIR}/python/wheel")
set(MPM_WHEEL_PARTS "${PROJECT_SOURCE_DIR}/build/wheel" CACHE PATH "The folder of what parts.sh builds")
execute_process(COMMAND sh "${MPM_WHEEL_FILES}/parts.sh" "${PROJECT_SOURCE_DIR}" "${MPM_WHEEL_PARTS}" COMMAND_ERROR_IS_FATAL ANY)
set(MPM_WHEEL_OPENCV "${MPM_WHEEL_PARTS}/installed/lib/cmake/opencv4" CACHE PATH "The folder of OpenCV's CMake files")
foreach(package IN ITEMS OpenCV HWY ONNX)
  set(${package}_DIR "${MPM_WHEEL_FILES}/cmake" CACHE PATH "" FORCE)
endforeach()
file(GLOB Protobuf_INCLUDE_DIR "${MPM_WHEEL_PARTS}/src/grpcio-tools-*/third_party/protobuf/src")
set(Protobuf_INCLUDE_DIR "${Protobuf_INCLUDE_DIR}" CACHE PATH "" FORCE)
set(Protobuf_LIBRARY "${MPM_WHEEL_PARTS}/protobuf/libprotobuf.a" CACHE FILEPATH "" FORCE)
find_package(Protobuf REQUIRED)
file(GLOB JPEG_LIBRARY "${MPM_WHEEL_PARTS}/installed/lib/opencv4/3rdparty/liblibjpeg-turbo.a")
set(JPEG_LIBRARY "${JPEG_LIBRARY}" CACHE FILEPATH "" FORCE)  # Debian's headers have the same interface, version 6.2
# The linker takes nothing from the static library, but would list a shared library among the needed libraries.
find_library(MPM_WHEEL_SQLITE NAMES libsqlite3.a REQUIRED)
set(SQLite3_LIBRARY "${MPM_WHEEL_SQLITE}" CACHE FILEPATH "" FORCE)
