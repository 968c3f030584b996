/* The C interface of libmpm: settings of the process for later forwards, and the calling thread's last
 * report. For programs that reach OpenCV by another language. Functions that return int give 0, or -1 with
 * mpm_last_error(). */
#ifndef MPM_H
#define MPM_H

#if defined(__GNUC__)
#define MPM_C_API __attribute__((visibility("default")))
#else
#define MPM_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

MPM_C_API const char* mpm_version(void);
/* What went wrong in the calling thread's last failed call; "" if nothing has. */
MPM_C_API const char* mpm_last_error(void);

/* "2,5" or "none": blocks to merge before, strictly increasing. NULL takes the setting back. */
MPM_C_API int mpm_set_blocks(const char* blocks);
/* "cpu", "cuda", "cuda:1" or "auto". NULL takes the setting back. */
MPM_C_API int mpm_set_device(const char* device);
/* "f32", "tf32", "bf16", "f16", "i8", "auto" or "auto-fast". NULL takes the setting back. */
MPM_C_API int mpm_set_precision(const char* precision);
/* "on" or "off": whether an image's bits may not depend on its batch on a GPU either. NULL takes it back. */
MPM_C_API int mpm_set_batch_independent(const char* independent);
/* Reuse over time: "on", "off", or values separated by commas such as "refresh=30,full=0.25" (sensitivity,
 * floor, exact, refresh, full, budget; the others keep their defaults). NULL takes the setting back. */
MPM_C_API int mpm_set_reuse(const char* reuse);

/* Of the last forward of a merging encoder in this thread. */
MPM_C_API int mpm_report_images(void);
/* Image tokens of the picture: the length of its map. -1 where there is no such image. */
MPM_C_API int mpm_report_map_size(int image);
/* Final cluster of each token; `ids` takes `capacity` values. Returns how many there are, or -1. */
MPM_C_API int mpm_report_map(int image, int* ids, int capacity);
/* Image tokens entering each block, likewise. */
MPM_C_API int mpm_report_tokens(int image, int* tokens, int capacity);
MPM_C_API int mpm_report_stages(int image);
/* The block and the tokens left of one stage. */
MPM_C_API int mpm_report_stage(int image, int stage, int* block, int* tokens);
/* Cluster of each token that entered the stage, likewise. */
MPM_C_API int mpm_report_stage_map(int image, int stage, int* ids, int capacity);
/* Milliseconds. */
MPM_C_API double mpm_report_merge_ms(void);
MPM_C_API double mpm_report_restore_ms(void);
MPM_C_API double mpm_report_whole_ms(void);

#ifdef __cplusplus
}
#endif

#endif
