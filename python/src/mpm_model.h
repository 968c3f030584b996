/* The C interface that the Python package uses in addition to <mpm/mpm.h>: models, results, conversions and
 * measurements.
 *
 * Functions that return int return one of the MPM_ statuses below. After a failure `*error` is a message,
 * which mpm_free() releases. Text is UTF-8; a path is in the system's encoding. Options and descriptions are
 * JSON, because the Python files are the only users and always have the same version as the library. Every
 * function may be called from any thread. */
#ifndef MPM_MODEL_H
#define MPM_MODEL_H

#include <mpm/mpm.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MPM_OK = 0,
    MPM_FAILED = 1,      /* a model, a file or a setting cannot be used */
    MPM_WRONG_VALUE = 2, /* an argument has an impossible value */
    MPM_STOPPED = 3      /* the callback ended the work */
};
/* Further types of mpm_array. */
enum { MPM_U8 = 2, MPM_I8 = 3, MPM_U16 = 4, MPM_I16 = 5, MPM_F64 = 6, MPM_I64 = 7 };

MPM_C_API void mpm_free(char* text);

/* An array in the library's memory. */
typedef struct mpm_buffer mpm_buffer;
MPM_C_API void mpm_buffer_array(const mpm_buffer* buffer, mpm_array* array);
MPM_C_API void mpm_buffer_free(mpm_buffer* buffer);

/* --- Models --- */

typedef struct mpm_model mpm_model;
typedef struct mpm_result mpm_result;
/* path: a file, or "default". rows, columns: the input size, if the file has none; 0: not given. */
MPM_C_API int mpm_model_open(const char* path, int rows, int columns, mpm_model** model, char** error);
MPM_C_API void mpm_model_free(mpm_model* model);
/* facts: {"path", "size", "classes", "blocks", "method", "precision", "device", "reuse", "batch", "detector",
 * "threshold", "nms", "objects"} */
MPM_C_API int mpm_model_describe(mpm_model* model, char** facts, char** error);
/* setting: "blocks", "method", "precision", "device", "reuse", "threshold" (0 to 1), for a detector "nms" (0
 * to 1), or "objects". "objects" is a JSON list with the names of the classes whose objects are tracked; for
 * a detector, an empty list means all classes. */
MPM_C_API int mpm_model_set(mpm_model* model, const char* setting, const char* value, char** error);
/* stream: NULL for all streams. */
MPM_C_API int mpm_model_forget(mpm_model* model, const char* stream, char** error);
/* images: MPM_U8, rows x columns x 3, BGR. streams: `count` names, or NULL. Writes `count` results. */
MPM_C_API int mpm_model_run(mpm_model* model, const mpm_array* images, const char* const* streams, int count,
                            mpm_result** results, char** error);

/* A tracker of a stream's objects, which keep their identity from frame to frame. A tracker always uses the
 * threshold that the model had at the tracker's first frame. */
typedef struct mpm_tracker mpm_tracker;
MPM_C_API mpm_tracker* mpm_tracker_new(void); /* NULL only if memory runs out */
MPM_C_API void mpm_tracker_free(mpm_tracker* tracker);
/* Like mpm_model_run(). Image i is the next frame of trackers[i], at seconds[i] of the stream's clock. All
 * trackers must be different. */
MPM_C_API int mpm_model_track(mpm_model* model, const mpm_array* images, const char* const* streams,
                              mpm_tracker* const* trackers, const double* seconds, int count,
                              mpm_result** results, char** error);
/* Returns a JSON list of tracks in the form of `mpm run --save tracks`, each also with its "path"; NULL if
 * the result has no tracks. */
MPM_C_API char* mpm_result_tracks(const mpm_result* result);

MPM_C_API void mpm_result_free(mpm_result* result);
/* Returns {"tokens", "grid", "recomputed", "times", "device", "precision", "classes", "palette"}; for a
 * detector also {"detector": {"names": class names of the objects, "masks": whether there are masks}}. */
MPM_C_API char* mpm_result_describe(const mpm_result* result);
/* name: "labels", "features" or "map"; for a detector "boxes", "scores" and "labels", the best object first.
 * Returns 0 if the result has no such array. The memory belongs to the result. */
MPM_C_API int mpm_result_array(const mpm_result* result, const char* name, mpm_array* array);
/* Like mpm_result_array(). object: 0 for the best object. Objects with the same box may share memory. */
MPM_C_API int mpm_result_mask(const mpm_result* result, int object, mpm_array* array);
/* image: the image that the result was computed from. */
MPM_C_API int mpm_result_overlay(const mpm_result* result, const mpm_array* image, mpm_buffer** drawn,
                                 char** error);

/* --- Networks in this library's OpenCV, for a cv2 without MPM's operators --- */

/* Fails if the file cannot be read or needs a newer version of this library. */
MPM_C_API int mpm_network_check(const char* path, char** error);
typedef struct mpm_network mpm_network;
MPM_C_API int mpm_network_open(const char* path, mpm_network** network, char** error);
MPM_C_API void mpm_network_free(mpm_network* network);
/* Returns a JSON list of the layers whose outputs are not connected. */
MPM_C_API char* mpm_network_outputs(const mpm_network* network);
/* name: "" for the only input. Copies the values of `input`. */
MPM_C_API int mpm_network_set_input(mpm_network* network, const char* name, const mpm_array* input,
                                    char** error);
/* Computes the outputs of the `count` layers with these names. Writes a buffer for each layer. */
MPM_C_API int mpm_network_forward(mpm_network* network, const char* const* names, int count,
                                  mpm_buffer** outputs, char** error);

/* --- Tokens --- */

/* tokens: MPM_F32, rows x values. `merged` must have room for as many rows as `tokens`. Writes the cluster of
 * each image token to `map`. */
MPM_C_API int mpm_merge_tokens(const mpm_array* tokens, int special, float* merged, int* rows, int* map,
                               char** error);
/* Writes `special` + `length` rows to `restored`. */
MPM_C_API int mpm_restore_tokens(const mpm_array* tokens, const int* map, int length, int special,
                                 float* restored, char** error);
/* Writes `length` numbers to `composed`. */
MPM_C_API int mpm_compose_maps(const int* first, int length, const int* second, int clusters, int* composed,
                               char** error);

/* --- Images --- */

/* Reads a file as MPM_U8, rows x columns x 3, BGR. */
MPM_C_API int mpm_image_read(const char* path, mpm_buffer** image, char** error);
/* image: MPM_U8 or MPM_U16, rows x columns or rows x columns x 3. */
MPM_C_API int mpm_image_write(const char* path, const mpm_array* image, char** error);

/* --- Sources, as for `mpm run` --- */

/* Called between steps. If total is 0, only asks whether to continue. A nonzero result ends the work. */
typedef int (*mpm_progress)(long long done, long long total);

typedef struct mpm_source mpm_source;
/* Calls `progress` a few times a second, because a source may wait for ever. */
MPM_C_API int mpm_source_open(const char* address, mpm_source** source, mpm_progress progress, char** error);
MPM_C_API void mpm_source_free(mpm_source* source);
/* Writes the next frame and its name; at the end, writes NULL to `image`. If images before this frame could
 * not be read, writes the reasons to `skipped`. */
MPM_C_API int mpm_source_next(mpm_source* source, mpm_buffer** image, char** name, char** skipped,
                              mpm_progress progress, char** error);
/* Returns the time of the latest frame, in seconds of the source's clock. */
MPM_C_API double mpm_source_seconds(const mpm_source* source);

/* --- Functions that write a report in JSON --- */

MPM_C_API int mpm_convert(const char* input, const char* output, const char* options, char** report,
                          char** error);
MPM_C_API int mpm_model_info(const char* path, char** report, char** error);
/* images: `count` images as for mpm_model_run(); 0: images of the built-in street. */
MPM_C_API int mpm_bench(const char* model, const mpm_array* images, int count, const char* options,
                        mpm_progress progress, char** report, char** error);
MPM_C_API int mpm_evaluate(const char* model, const char* options, mpm_progress progress, char** report,
                           char** error);
/* images: as for mpm_bench(), or 0 images and a "source" in the options. */
MPM_C_API int mpm_tune(const char* model, const mpm_array* images, int count, const char* options,
                       mpm_progress progress, char** report, char** error);
/* paths: a JSON list of counts files. */
MPM_C_API int mpm_join(const char* paths, char** report, char** error);

/* Registers the C++ layers with the OpenCV libraries that this library is linked to. */
MPM_C_API int mpm_register_native(char** error);
/* Sets the largest number of threads for OpenCV's loops; 0: a thread for each processor. */
MPM_C_API void mpm_set_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif
