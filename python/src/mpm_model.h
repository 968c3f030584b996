/* The C interface behind the Python package, beside <mpm/mpm.h>: models, results, conversions and
 * measurements.
 *
 * Functions that return int return one of the MPM_ statuses below. After a failure `*error` is a message,
 * which mpm_free() releases. Text is UTF-8, or a path as the system has it. Options and descriptions travel
 * as JSON: the Python files are the only users, and both sides are always of one version. Every function may
 * be called from any thread. */
#ifndef MPM_MODEL_H
#define MPM_MODEL_H

#include <mpm/mpm.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MPM_OK = 0,
    MPM_FAILED = 1,      /* a model, a file or a setting cannot be used */
    MPM_WRONG_VALUE = 2, /* an argument is not one of those that are possible */
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
/* path: a file, or "default". rows, columns: used where the file leaves the size open; 0 for none. */
MPM_C_API int mpm_model_open(const char* path, int rows, int columns, mpm_model** model, char** error);
MPM_C_API void mpm_model_free(mpm_model* model);
/* {"path", "size", "classes", "blocks", "method", "precision", "device", "reuse", "batch", "detector",
 * "threshold", "nms", "objects"} */
MPM_C_API int mpm_model_describe(mpm_model* model, char** facts, char** error);
/* setting: "blocks", "method", "precision", "device" or "reuse"; of a detector "threshold" and "nms", 0 to 1;
 * "objects": a JSON list of the classes whose objects are followed, by name; of a detector an empty one is
 * all. */
MPM_C_API int mpm_model_set(mpm_model* model, const char* setting, const char* value, char** error);
/* stream: NULL for all. */
MPM_C_API int mpm_model_forget(mpm_model* model, const char* stream, char** error);
/* images: MPM_U8, rows x columns x 3, BGR. streams: `count` names, or NULL. Writes `count` results. */
MPM_C_API int mpm_model_run(mpm_model* model, const mpm_array* images, const char* const* streams, int count,
                            mpm_result** results, char** error);

/* The objects of a stream, which keep their identity from frame to frame. It uses the model's threshold of
 * its first frame. */
typedef struct mpm_tracker mpm_tracker;
MPM_C_API mpm_tracker* mpm_tracker_new(void); /* NULL only without memory */
MPM_C_API void mpm_tracker_free(mpm_tracker* tracker);
/* As mpm_model_run(). Image i is the next frame of trackers[i], each once, at seconds[i] of its clock. */
MPM_C_API int mpm_model_track(mpm_model* model, const mpm_array* images, const char* const* streams,
                              mpm_tracker* const* trackers, const double* seconds, int count,
                              mpm_result** results, char** error);
/* A JSON list of tracks: as `mpm run --save tracks` writes them, and "path". NULL if the result has none. */
MPM_C_API char* mpm_result_tracks(const mpm_result* result);

MPM_C_API void mpm_result_free(mpm_result* result);
/* {"tokens", "grid", "recomputed", "times", "device", "precision", "classes", "palette"}; of a detector also
 * "detector": {"names": of each object, "masks": whether there are masks} */
MPM_C_API char* mpm_result_describe(const mpm_result* result);
/* name: "labels", "features" or "map"; of a detector "boxes", "scores" and "labels", the best object first.
 * Returns 0 if the result has no such array. The memory is the result's. */
MPM_C_API int mpm_result_array(const mpm_result* result, const char* name, mpm_array* array);
/* object: 0 for the best. Else as mpm_result_array(). Objects of one box may have the same memory. */
MPM_C_API int mpm_result_mask(const mpm_result* result, int object, mpm_array* array);
/* image: the one that the result was computed from. */
MPM_C_API int mpm_result_overlay(const mpm_result* result, const mpm_array* image, mpm_buffer** drawn,
                                 char** error);

/* --- Networks for a cv2 that cannot have our operators: they run in this library's OpenCV --- */

/* Fails if the file cannot be read or is of a later version. */
MPM_C_API int mpm_network_check(const char* path, char** error);
typedef struct mpm_network mpm_network;
MPM_C_API int mpm_network_open(const char* path, mpm_network** network, char** error);
MPM_C_API void mpm_network_free(mpm_network* network);
/* A JSON list of the layers whose outputs are not connected. */
MPM_C_API char* mpm_network_outputs(const mpm_network* network);
/* name: "" for the only input. The numbers are copied. */
MPM_C_API int mpm_network_set_input(mpm_network* network, const char* name, const mpm_array* input,
                                    char** error);
/* Runs to the `count` layers of these names. Writes one buffer each. */
MPM_C_API int mpm_network_forward(mpm_network* network, const char* const* names, int count,
                                  mpm_buffer** outputs, char** error);

/* --- Tokens --- */

/* tokens: MPM_F32, rows x values. Writes at most as many rows to `merged`, and one number for each image
 * token to `map`. */
MPM_C_API int mpm_merge_tokens(const mpm_array* tokens, int special, float* merged, int* rows, int* map,
                               char** error);
/* Writes special + length rows. */
MPM_C_API int mpm_restore_tokens(const mpm_array* tokens, const int* map, int length, int special,
                                 float* restored, char** error);
/* Writes as many numbers as `first` has. */
MPM_C_API int mpm_compose_maps(const int* first, int length, const int* second, int clusters, int* composed,
                               char** error);

/* --- Images --- */

/* A file as MPM_U8, rows x columns x 3, BGR. */
MPM_C_API int mpm_image_read(const char* path, mpm_buffer** image, char** error);
/* image: MPM_U8 or MPM_U16, rows x columns or rows x columns x 3. */
MPM_C_API int mpm_image_write(const char* path, const mpm_array* image, char** error);

/* --- Sources: as `mpm run` takes them --- */

/* Called between steps, with total = 0 only to ask whether to go on. Another answer than 0 ends the work. */
typedef int (*mpm_progress)(long long done, long long total);

typedef struct mpm_source mpm_source;
/* A source may wait for ever, so `progress` is asked a few times a second. */
MPM_C_API int mpm_source_open(const char* address, mpm_source** source, mpm_progress progress, char** error);
MPM_C_API void mpm_source_free(mpm_source* source);
/* Writes the next frame and its name, or NULL to `image` at the end; to `skipped` why images before it cannot
 * be read. */
MPM_C_API int mpm_source_next(mpm_source* source, mpm_buffer** image, char** name, char** skipped,
                              mpm_progress progress, char** error);
/* Of the source's clock, at the last frame. */
MPM_C_API double mpm_source_seconds(const mpm_source* source);

/* --- Work with a report in JSON --- */

MPM_C_API int mpm_convert(const char* input, const char* output, const char* options, char** report,
                          char** error);
MPM_C_API int mpm_model_info(const char* path, char** report, char** error);
/* images: `count`, as mpm_model_run() takes them; none for images of the built-in street. */
MPM_C_API int mpm_bench(const char* model, const mpm_array* images, int count, const char* options,
                        mpm_progress progress, char** report, char** error);
MPM_C_API int mpm_evaluate(const char* model, const char* options, mpm_progress progress, char** report,
                           char** error);
/* images: as for mpm_bench(), or none and a "source" in the options. */
MPM_C_API int mpm_tune(const char* model, const mpm_array* images, int count, const char* options,
                       mpm_progress progress, char** report, char** error);
/* paths: a JSON list. */
MPM_C_API int mpm_join(const char* paths, char** report, char** error);

/* Registers the C++ layers with the OpenCV libraries that this library is linked to. */
MPM_C_API int mpm_register_native(char** error);
/* The largest number of threads that OpenCV's loops use here; 0: that of the machine. */
MPM_C_API void mpm_set_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif
