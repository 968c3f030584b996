# The wheel's OpenCV has core, imgproc, imgcodecs and dnn. Its videos come from the cv2 of the user through the headers of
# python/wheel/video, and it has no window.
list(REMOVE_ITEM OpenCV_FIND_COMPONENTS videoio highgui)
include("${MPM_WHEEL_OPENCV}/OpenCVConfig.cmake" NO_POLICY_SCOPE)
if(NOT TARGET opencv_videoio)
  add_library(opencv_videoio INTERFACE IMPORTED GLOBAL)
  target_include_directories(opencv_videoio INTERFACE "${MPM_WHEEL_FILES}/video")
  add_library(opencv_highgui INTERFACE IMPORTED GLOBAL)
  target_include_directories(opencv_highgui INTERFACE "${MPM_WHEEL_FILES}/video")
endif()
