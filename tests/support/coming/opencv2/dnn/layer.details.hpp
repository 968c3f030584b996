// The stand-in has the factory in one header.
#pragma once

#include <opencv2/dnn.hpp>
