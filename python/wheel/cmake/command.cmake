# Parts that only the wheel's library has: the command line, videos from the user's cv2, and replacements for parts
# that the wheel cannot contain.
find_package(CLI11 CONFIG REQUIRED)
find_package(OpenCV REQUIRED COMPONENTS core imgproc imgcodecs videoio dnn highgui)
target_sources(mpm_python PRIVATE wheel/command.cpp wheel/left_out.cpp wheel/video/capture.cpp)
get_target_property(sources mpm_cli SOURCES)
get_target_property(libraries mpm_cli LINK_LIBRARIES)
list(TRANSFORM sources PREPEND "${PROJECT_SOURCE_DIR}/cli/")
add_library(mpm_wheel_cli OBJECT ${sources})
target_compile_definitions(mpm_wheel_cli PRIVATE main=mpmMain MPM_WITHOUT_WINDOW)
target_include_directories(mpm_wheel_cli PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(mpm_wheel_cli PRIVATE ${libraries})
target_link_libraries(mpm_python PRIVATE mpm_wheel_cli ${libraries})
# The program uses only the names of readings, so the linker can drop the store and SQLite.
target_compile_options(mpm_pipeline_store PRIVATE -ffunction-sections -fdata-sections)
target_link_options(mpm_python PRIVATE -s LINKER:--gc-sections,--as-needed)
