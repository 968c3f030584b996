/* The C interface of libmpm, for programs in other languages: settings of the process for its later forwards,
 * the report of the calling thread's last forward, networks, and the operators one by one, for an OpenCV that
 * shares no libraries with this one. No function throws. Those that return int return -1 if
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
/* method: how tokens are reduced, such as "mpm", "gentle", "tome:r=13", or "none". The blocks stay. */
MPM_C_API int mpm_set_method(const char* method);
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

/* Numbers without gaps, the last index runs fastest. */
#define MPM_MAX_DIMS 8
enum { MPM_F32 = 0, MPM_I32 = 1 };
typedef struct mpm_array {
    void* data;
    int type; /* MPM_F32 or MPM_I32 */
    int dims; /* 1 to MPM_MAX_DIMS */
    int sizes[MPM_MAX_DIMS];
} mpm_array;

/* A network. For one thread at a time. */
typedef struct mpm_net mpm_net;
/* Reads an ONNX file as mpm::readNet() does. NULL if it fails. mpm_net_free() releases it. */
MPM_C_API mpm_net* mpm_read_net(const char* path);
/* Runs the network. `output` describes its output, whose memory belongs to the network and is valid until the
 * next call with it. */
MPM_C_API int mpm_net_forward(mpm_net* net, const mpm_array* input, mpm_array* output);
/* net: may be NULL. */
MPM_C_API void mpm_net_free(mpm_net* net);

/* An operator of the domain "mpm", outside of any network. For one thread at a time. The operators of a chain
 * ("chain" of MpmEncoder) find each other if they are built one after another in one thread, as a network's
 * are. */
typedef struct mpm_operator mpm_operator;
/* The operators that the calling thread builds between these calls are those of one network. Without the
 * calls a decoder computes all rows, even if the encoder before it reuses. */
MPM_C_API void mpm_begin_network(void);
MPM_C_API void mpm_end_network(void);
/* The name of an operator ("MpmEncoder"), from 0; NULL behind the last. Not to be freed. */
MPM_C_API const char* mpm_operator_type(int index);
/* NULL if there is no such operator. mpm_operator_free() releases it. */
MPM_C_API mpm_operator* mpm_operator_new(const char* type);
/* Attributes, before mpm_operator_build(). count: at least 1. */
MPM_C_API int mpm_operator_set_ints(mpm_operator* op, const char* name, const int* values, int count);
MPM_C_API int mpm_operator_set_reals(mpm_operator* op, const char* name, const double* values, int count);
MPM_C_API int mpm_operator_set_text(mpm_operator* op, const char* name, const char* value);
/* The operator's next constant, before mpm_operator_build(). Its numbers are not copied: they must stay as
 * they are until mpm_operator_free(). */
MPM_C_API int mpm_operator_add_constant(mpm_operator* op, const mpm_array* constant);
/* Checks the attributes. */
MPM_C_API int mpm_operator_build(mpm_operator* op);
/* Writes type and sizes of the outputs for `inputs`, of which only the sizes are read, at most `capacity`.
 * Returns the number of outputs there are. Their `data` is left as it is. */
MPM_C_API int mpm_operator_outputs(mpm_operator* op, const mpm_array* inputs, int count, mpm_array* outputs,
                                   int capacity);
/* Computes the first `capacity` outputs, at least one, from `count` inputs. All have the sizes of
 * mpm_operator_outputs(); inputs are MPM_F32, or MPM_I32 for maps. */
MPM_C_API int mpm_operator_run(mpm_operator* op, const mpm_array* inputs, int count, const mpm_array* outputs,
                               int capacity);
/* op: may be NULL. */
MPM_C_API void mpm_operator_free(mpm_operator* op);

#ifdef __cplusplus
}
#endif

#endif
