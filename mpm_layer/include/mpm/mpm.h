/* The C interface of libmpm, for programs in other languages: settings of the process for its later forwards,
 * and the report of the calling thread's last forward. No function throws. Those that return int return -1 if
 * they fail, and mpm_last_error() then describes why; those that only set something return 0 otherwise.
 * Settings of a C++ handle override these, these override the environment. Every function may be called from
 * any thread. */
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

/* "MAJOR.MINOR.PATCH"; not to be freed. */
MPM_C_API const char* mpm_version(void);
/* Why the calling thread's last failed call failed; "" if none has. Valid until the thread's next failure. */
MPM_C_API const char* mpm_last_error(void);

/* Settings: NULL removes the setting. They fail if the text is not one of those described.
 * blocks: the blocks before which tokens merge, counted from 0 and strictly increasing, such as "2,5"; or
 * "none". */
MPM_C_API int mpm_set_blocks(const char* blocks);
/* device: "cpu", "cuda", "cuda:1" or "auto". Fails also if that GPU cannot be used. */
MPM_C_API int mpm_set_device(const char* device);
/* precision: "f32", "tf32", "bf16", "f16", "i8", "auto" or "auto-fast". If the device has no such precision,
 * the next forward fails. */
MPM_C_API int mpm_set_precision(const char* precision);
/* independent: "on" (the bits of an image do not depend on its batch on a GPU either) or "off". */
MPM_C_API int mpm_set_batch_independent(const char* independent);
/* reuse: reuse over time, "on", "off", or values separated by commas such as "refresh=30,full=0.25"
 * (sensitivity, floor, exact, refresh, full, budget; the others keep their defaults, see mpm::Reuse). */
MPM_C_API int mpm_set_reuse(const char* reuse);

/* Images in the report: the batch of the last forward of a merging encoder in this thread; 0 before the
 * first. */
MPM_C_API int mpm_report_images(void);
/* image: 0 to mpm_report_images() - 1 here and below; functions fail for others.
 * Returns the image tokens at the encoder's input, the length of the image's map. */
MPM_C_API int mpm_report_map_size(int image);
/* Writes the final cluster of each image token to `ids`, at most `capacity` values. Returns the number of
 * values there are. `ids` may be NULL if `capacity` is 0. */
MPM_C_API int mpm_report_map(int image, int* ids, int capacity);
/* The same for the image tokens that entered each block. */
MPM_C_API int mpm_report_tokens(int image, int* tokens, int capacity);
/* Returns the number of stages (merges) of the image. */
MPM_C_API int mpm_report_stages(int image);
/* stage: 0 to mpm_report_stages(image) - 1; functions fail for others. Writes the block before which tokens
 * merged and the image tokens that were left; either pointer may be NULL. */
MPM_C_API int mpm_report_stage(int image, int stage, int* block, int* tokens);
/* As mpm_report_map(), for the cluster of each image token that entered the stage. */
MPM_C_API int mpm_report_stage_map(int image, int stage, int* ids, int capacity);
/* Milliseconds of the last forward: all merges, all restores, the whole encoder; 0 before the first. */
MPM_C_API double mpm_report_merge_ms(void);
MPM_C_API double mpm_report_restore_ms(void);
MPM_C_API double mpm_report_whole_ms(void);

#ifdef __cplusplus
}
#endif

#endif
