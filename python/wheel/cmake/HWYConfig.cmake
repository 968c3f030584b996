# Debian has Highway only as a shared library. A single source replaces the library, and chooses the
# instruction set.
if(NOT TARGET hwy::hwy)
  add_library(mpm_wheel_hwy STATIC "${MPM_WHEEL_FILES}/highway_targets.cpp")
  add_library(hwy::hwy ALIAS mpm_wheel_hwy)
endif()
