// Hulls and bounding boxes: OpenCV 5 took them out of imgproc.
#pragma once

#include <opencv2/imgproc.hpp>
#if CV_VERSION_MAJOR >= 5
#include <opencv2/geometry.hpp>
#endif
