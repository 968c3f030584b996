# cmake and cpack run this file at installation. Sets MPM_PLACE to the folder, relative to the prefix, in
# which Python or GStreamer searches for the module. MPM_KIND: python or gstreamer. MPM_CHOSEN: the user's
# choice, or empty.
cmake_policy(VERSION 3.25)
set(MPM_PLACE "${MPM_CHOSEN}")
if(NOT MPM_PLACE AND MPM_KIND STREQUAL "python")
  # Debian's interpreter has a folder for /usr, another for /usr/local, and a third for the user's packages.
  execute_process(COMMAND "${MPM_PYTHON}" -E -c [[
import re, site, sys
prefix = sys.argv[1].rstrip("/")
own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
found = [f for f in site.getsitepackages() + own if re.fullmatch(re.escape(prefix) + "/lib/[^/]+/(dist|site)-packages", f)]
print(found[0][len(prefix) + 1:] if found else "", end="")
]] "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE MPM_PLACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT MPM_PLACE)
    set(MPM_PLACE "lib/python3/dist-packages")
    message(STATUS "Python does not look into this prefix: export PYTHONPATH=${CMAKE_INSTALL_PREFIX}/${MPM_PLACE}")
  endif()
elseif(NOT MPM_PLACE)
  set(MPM_PLACE "${MPM_SYSTEM_FOLDER}")
  if(CMAKE_INSTALL_PREFIX STREQUAL "$ENV{HOME}/.local")
    set(MPM_PLACE "share/gstreamer-1.0/plugins")
  elseif(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    message(STATUS
      "GStreamer looks for plugins below /usr only: export GST_PLUGIN_PATH=${CMAKE_INSTALL_PREFIX}/${MPM_PLACE}")
  endif()
endif()
