// The imitation declares LayerFactory in dnn.hpp.
#pragma once

#include <opencv2/dnn.hpp>
