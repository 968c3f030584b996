/* Functions that only the wheel's library has. This library lacks OpenCV's video module, so the caller
 * provides functions that read videos. */
#ifndef MPM_VIDEO_H
#define MPM_VIDEO_H

#include <mpm/mpm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* parameters: `count` pairs of a property and its value. Returns a positive number, which names the video in
 * the other functions; 0 if the video cannot be opened; -1 if no videos are supported. */
typedef long long (*mpm_video_open)(const char* address, int backend, const int* parameters, int count);
typedef double (*mpm_video_get)(long long video, int property);
typedef int (*mpm_video_set)(long long video, int property, double value);
/* Writes the next frame, whose memory belongs to the callee and is valid until the next call. Returns 0 at
 * the end. */
typedef int (*mpm_video_read)(long long video, mpm_array* frame);
typedef void (*mpm_video_release)(long long video);
MPM_C_API void mpm_set_video(mpm_video_open open, mpm_video_get get, mpm_video_set set, mpm_video_read read,
                             mpm_video_release release);
/* Runs the program `mpm` with these arguments. Returns the exit status. */
MPM_C_API int mpm_command(int count, char** arguments);

#ifdef __cplusplus
}
#endif

#endif
