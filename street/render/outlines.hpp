// Includes OpenCV's hulls and bounding boxes, which OpenCV 5 moved out of imgproc.
#pragma once

#include <opencv2/imgproc.hpp>
#if __has_include(<opencv2/geometry.hpp>)
#include <opencv2/geometry.hpp>
#endif
