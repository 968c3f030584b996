# `cpack -G DEB` in the build folder: libmpm0, libmpm-dev, mpm (the command line and the shipped model), mpm-monitor, mpm-models,
# python3-mpm and gstreamer1.0-mpm.
set(CPACK_PACKAGE_NAME mpm)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_CONTACT "The MPM developers <mpm@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)

set(CPACK_COMPONENTS_ALL runtime dev)
if(MPM_BUILD_CLI)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libmpm0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Mutual Pair Merging layers for OpenCV's DNN module")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmpm-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libopencv-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libhwy-dev")  # the static library needs it
set(CPACK_COMPONENT_DEV_DEPENDS runtime)
set(CPACK_COMPONENT_DEV_DESCRIPTION "Mutual Pair Merging layers: headers, static library, CMake package")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME mpm)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "fonts-dejavu-core")  # text on images and plots
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Segment images and videos with merged vision transformers")

set(components RUNTIME DEV TOOLS)
if(MPM_BUILD_GUI)
  list(APPEND CPACK_COMPONENTS_ALL monitor)
  list(APPEND components MONITOR)
  set(CPACK_DEBIAN_MONITOR_PACKAGE_NAME mpm-monitor)
  set(CPACK_DEBIAN_MONITOR_PACKAGE_SECTION graphics)
  # The monitor uses the shipped model, and its messages mention "mpm info" and "mpm doctor".
  set(CPACK_COMPONENT_MONITOR_DEPENDS tools)
  # Translations of the texts on Qt's own buttons.
  set(CPACK_DEBIAN_MONITOR_PACKAGE_RECOMMENDS "qt6-translations-l10n")
  set(CPACK_DEBIAN_MONITOR_PACKAGE_SUGGESTS "mosquitto, prometheus")
  set(scripts "${PROJECT_SOURCE_DIR}/assets/debian/monitor")
  set(CPACK_DEBIAN_MONITOR_PACKAGE_CONTROL_EXTRA "${scripts}/postinst;${scripts}/prerm;${scripts}/postrm")
  set(CPACK_COMPONENT_MONITOR_DESCRIPTION "Watch fixed cameras with merged vision transformers")
endif()
if(TARGET mpm-models)
  list(APPEND CPACK_COMPONENTS_ALL training)
  list(APPEND components TRAINING)
  set(CPACK_DEBIAN_TRAINING_PACKAGE_NAME mpm-models)
  set(CPACK_DEBIAN_TRAINING_PACKAGE_SECTION graphics)
  set(CPACK_DEBIAN_TRAINING_PACKAGE_RECOMMENDS "mpm, libopenblas0-openmp")  # OpenBLAS makes LibTorch 4 times as fast
  set(CPACK_COMPONENT_TRAINING_DESCRIPTION "Train and import segmentation models for merged vision transformers")
endif()
# Updates the loader's cache (ldconfig) after the library is installed or removed.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/assets/debian/triggers")
if(TARGET mpm_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  list(APPEND components PYTHON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-mpm)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.10), python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-opencv, mpm")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/assets/debian/python/postinst;${PROJECT_SOURCE_DIR}/assets/debian/python/prerm")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Segment images with merged vision transformers from Python")
endif()
if(TARGET mpm_gstreamer)
  list(APPEND CPACK_COMPONENTS_ALL gstreamer)
  list(APPEND components GSTREAMER)
  set(CPACK_DEBIAN_GSTREAMER_PACKAGE_NAME gstreamer1.0-mpm)
  set(CPACK_DEBIAN_GSTREAMER_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_GSTREAMER_PACKAGE_RECOMMENDS "mpm")
  set(CPACK_COMPONENT_GSTREAMER_DESCRIPTION "Segment frames in GStreamer pipelines with merged vision transformers")
endif()

# Debian requires a folder with licence and changelog for each package. gzip -n stores no time, so every build
# gives the same bytes.
configure_file("${PROJECT_SOURCE_DIR}/assets/debian/changelog" "${PROJECT_BINARY_DIR}/debian/changelog" COPYONLY)
execute_process(COMMAND gzip -9nkf "${PROJECT_BINARY_DIR}/debian/changelog" COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS components)
  string(TOLOWER ${component} folder)
  install(FILES "${PROJECT_SOURCE_DIR}/assets/debian/copyright"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${component}_PACKAGE_NAME}" COMPONENT ${folder})
  install(FILES "${PROJECT_BINARY_DIR}/debian/changelog.gz"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${component}_PACKAGE_NAME}" COMPONENT ${folder})
  # Overrides lintian's errors about the mail address, because the project has no mail address yet.
  set(package "${CPACK_DEBIAN_${component}_PACKAGE_NAME}")
  file(WRITE "${PROJECT_BINARY_DIR}/debian/overrides/${package}" "${package}: bogus-mail-host\n${package}: bogus-mail-host-in-debian-changelog\n")
  install(FILES "${PROJECT_BINARY_DIR}/debian/overrides/${package}"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides" COMPONENT ${folder})
endforeach()

include(CPack)
