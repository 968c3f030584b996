// The program `mpm` as a function.
#include "python/src/mpm_video.h"

int mpmMain(int count, char** arguments);  // main() of cli/main.cpp

int mpm_command(int count, char** arguments) {
    return mpmMain(count, arguments);
}
