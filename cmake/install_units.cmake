# cmake and cpack run this file at installation. Installs the units of systemd with the program's final path.
cmake_policy(VERSION 3.25)
get_filename_component(bin "${MPM_BINDIR}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
string(REPLACE "%" "%%" bin "${bin}")  # systemd would expand a single %
execute_process(COMMAND mktemp -d OUTPUT_VARIABLE made OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
foreach(manager IN ITEMS user system)
  file(READ "${MPM_UNITS}/${manager}/mpm-monitor@.service" unit)
  string(REPLACE "@MPM_BINDIR@" "${bin}" unit "${unit}")
  file(WRITE "${made}/${manager}/mpm-monitor@.service" "${unit}")
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/${manager}" TYPE FILE
    FILES "${made}/${manager}/mpm-monitor@.service")
endforeach()
file(REMOVE_RECURSE "${made}")
