# The wheel's OpenCV has core, imgproc, imgcodecs and dnn. Videos come from the user's cv2, through the headers in
# python/wheel/video. The wheel cannot show windows.
list(REMOVE_ITEM OpenCV_FIND_COMPONENTS videoio highgui)
include("${MPM_WHEEL_OPENCV}/OpenCVConfig.cmake" NO_POLICY_SCOPE)
if(NOT TARGET opencv_videoio)
  add_library(opencv_videoio INTERFACE IMPORTED GLOBAL)
  target_include_directories(opencv_videoio INTERFACE "${MPM_WHEEL_FILES}/video")
  add_library(opencv_highgui INTERFACE IMPORTED GLOBAL)
  target_include_directories(opencv_highgui INTERFACE "${MPM_WHEEL_FILES}/video")
endif()
