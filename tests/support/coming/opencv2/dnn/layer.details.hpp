// The stand-in has the factory in a single header.
#pragma once

#include <opencv2/dnn.hpp>
