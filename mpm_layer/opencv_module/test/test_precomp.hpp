#ifndef OPENCV_MPM_TEST_PRECOMP_HPP
#define OPENCV_MPM_TEST_PRECOMP_HPP

#include "opencv2/imgproc.hpp"
#include "opencv2/mpm.hpp"
#include "opencv2/ts.hpp"

#endif
