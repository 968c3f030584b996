// Hulls and bounding boxes: OpenCV 5 took them out of imgproc.
#pragma once

#include <opencv2/imgproc.hpp>
#if __has_include(<opencv2/geometry.hpp>)
#include <opencv2/geometry.hpp>
#endif
