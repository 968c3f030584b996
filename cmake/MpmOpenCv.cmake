# Tests which features the found OpenCV has, for mpm_layer/dnn/opencv.hpp, which uses no version numbers. Each
# test that succeeds defines a macro with the test's name.
include(CheckCXXSourceCompiles)

function(mpm_test_opencv name header code)
  set(CMAKE_REQUIRED_INCLUDES ${OpenCV_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_FLAGS "-std=c++17")
  set(CMAKE_REQUIRED_QUIET TRUE)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_cxx_source_compiles("#include <${header}>\n${code}" ${name})
  if(${name})
    add_compile_definitions(${name})
    message(STATUS "OpenCV: ${name}")
  endif()
endfunction()

mpm_test_opencv(MPM_OPENCV_MAT_SHAPE opencv2/core.hpp "cv::MatShape shape;")
mpm_test_opencv(MPM_OPENCV_INT64 opencv2/core.hpp "int type = CV_64S;")
mpm_test_opencv(MPM_OPENCV_FIT opencv2/core.hpp "void f(cv::Mat& m, const int* s) { m.fit(3, s, CV_32F); }")
mpm_test_opencv(MPM_OPENCV_TYPES opencv2/dnn.hpp "cv::dnn::MatType type; auto f = &cv::dnn::Layer::getTypes;")
mpm_test_opencv(MPM_OPENCV_DYNAMIC opencv2/dnn.hpp
  "bool f(cv::dnn::Layer& l) { return l.dynamicOutputShapes() && l.inputs.empty(); }")
mpm_test_opencv(MPM_OPENCV_NETWORK_POINTER opencv2/dnn.hpp "void* f(cv::dnn::Layer& l) { return l.netimpl; }")
mpm_test_opencv(MPM_OPENCV_CONSTANTS opencv2/dnn.hpp
  "struct N : cv::dnn::Net { bool f(cv::dnn::Layer& l) { impl = cv::Ptr<Impl>(static_cast<Impl*>(l.netimpl), [](Impl*) {});
   return isConstArg(l.inputs[0]); } };")
mpm_test_opencv(MPM_OPENCV_RESHAPE opencv2/dnn.hpp
  "struct L : cv::dnn::Layer { void reshapeLayer(cv::InputArrayOfArrays, cv::OutputArrayOfArrays) override; };")
mpm_test_opencv(MPM_OPENCV_WINOGRAD opencv2/dnn.hpp "void f(cv::dnn::Net& net) { net.enableWinograd(false); }")
mpm_test_opencv(MPM_OPENCV_ENGINE_AUTO opencv2/dnn.hpp
  "cv::dnn::Net f() { return cv::dnn::readNetFromONNX(\"m\", cv::dnn::ENGINE_AUTO); }")
