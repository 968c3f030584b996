/* The C interface of libmpm, for programs in other languages. It has settings for later forwards of the
 * process, the report of the calling thread's last forward, and networks. It also has single operators, for
 * programs that do not use libmpm's copy of OpenCV. No function throws. A function that returns int returns
 * -1 if it fails; then mpm_last_error() gives the reason. A function without another result returns 0 if it
 * succeeds. Settings of a C++ handle override the settings of this interface, which override the environment.
 * Every function may be called from any thread. */
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

/* Returns "MAJOR.MINOR.PATCH", which must not be freed. */
MPM_C_API const char* mpm_version(void);
/* Returns the reason of the calling thread's last failure, or "" if no function has failed. The text is valid
 * until the thread's next failure. */
MPM_C_API const char* mpm_last_error(void);

/* Settings: NULL removes the setting. A function fails if the text is not one of the described values.
 * blocks: the blocks before which tokens merge, counted from 0 and strictly increasing, such as "2,5"; or
 * "none". */
MPM_C_API int mpm_set_blocks(const char* blocks);
/* method: how tokens are reduced, such as "mpm", "gentle", "tome:r=13", or "none". Keeps the blocks. */
MPM_C_API int mpm_set_method(const char* method);
/* device: "cpu", "cuda", "cuda:1" or "auto". The function also fails if the GPU cannot be used. */
MPM_C_API int mpm_set_device(const char* device);
/* precision: "f32", "tf32", "bf16", "f16", "i8", "auto" or "auto-fast". If the device does not support the
 * precision, the next forward fails. */
MPM_C_API int mpm_set_precision(const char* precision);
/* independent: "on" or "off". If "on", the bits of an image's result do not depend on the other images of the
 * batch, even on a GPU. */
MPM_C_API int mpm_set_batch_independent(const char* independent);
/* reuse: reuse over time: "on", "off", or options separated by commas, such as "refresh=30,full=0.25". The
 * options are sensitivity, floor, exact, refresh, full and budget (see mpm::Reuse). An absent option has the
 * value of the model file if mpm::readNet() or mpm_read_net() read the model, else its default. */
MPM_C_API int mpm_set_reuse(const char* reuse);

/* Returns the number of images in the report, which describes the last forward of a backbone's encoder in the
 * calling thread; 0 before the first forward. */
MPM_C_API int mpm_report_images(void);
/* image, here and below: 0 to mpm_report_images() - 1; functions fail for other values.
 * Returns the number of image tokens at the encoder's input, which is the length of the image's map. */
MPM_C_API int mpm_report_map_size(int image);
/* Writes the final cluster of each image token to `ids`, but no more than `capacity` values. Returns the
 * length of the map. `ids` may be NULL if `capacity` is 0. */
MPM_C_API int mpm_report_map(int image, int* ids, int capacity);
/* Writes the number of image tokens that entered each block to `tokens`, but no more than `capacity` values.
 * Returns the number of blocks. `tokens` may be NULL if `capacity` is 0. */
MPM_C_API int mpm_report_tokens(int image, int* tokens, int capacity);
/* Returns the number of stages (merges) of the image. */
MPM_C_API int mpm_report_stages(int image);
/* stage: 0 to mpm_report_stages(image) - 1; functions fail for other values. Writes the block before which
 * (or after whose attention) tokens merged, and the number of image tokens after the stage. Either pointer
 * may be NULL. */
MPM_C_API int mpm_report_stage(int image, int stage, int* block, int* tokens);
/* Like mpm_report_map(), but writes the cluster of each image token that entered the stage. */
MPM_C_API int mpm_report_stage_map(int image, int stage, int* ids, int capacity);
/* Return the milliseconds of all merges, all restores and the whole encoder in the last forward; 0
 * before the first forward. */
MPM_C_API double mpm_report_merge_ms(void);
MPM_C_API double mpm_report_restore_ms(void);
MPM_C_API double mpm_report_whole_ms(void);

/* An array without gaps; the last index varies fastest. */
#define MPM_MAX_DIMS 8
enum { MPM_F32 = 0, MPM_I32 = 1 };
typedef struct mpm_array {
    void* data;
    int type; /* MPM_F32 or MPM_I32 */
    int dims; /* 1 to MPM_MAX_DIMS */
    int sizes[MPM_MAX_DIMS];
} mpm_array;

/* A network. Belongs to a single thread at a time. */
typedef struct mpm_net mpm_net;
/* Reads an ONNX file as mpm::readNet() does. Returns NULL if that fails. mpm_net_free() frees the network. */
MPM_C_API mpm_net* mpm_read_net(const char* path);
/* Runs the network, and writes a description of the network's output to `output`. The memory output->data
 * belongs to the network, and is valid until the next call with this network. */
MPM_C_API int mpm_net_forward(mpm_net* net, const mpm_array* input, mpm_array* output);
/* net: may be NULL. */
MPM_C_API void mpm_net_free(mpm_net* net);

/* An operator of the domain "mpm", outside of any network. Belongs to a single thread at a time. The segments
 * of a chain (attribute "chain" of MpmEncoder) share settings and a report if a thread builds them one after
 * another. */
typedef struct mpm_operator mpm_operator;
/* Begin and end a network: the operators that the calling thread builds between these calls belong to the
 * network. Without these calls, a decoder computes all rows even if the encoder uses reuse. */
MPM_C_API void mpm_begin_network(void);
MPM_C_API void mpm_end_network(void);
/* Returns the name of operator `index`, such as "MpmEncoder", or NULL after the last operator. `index` counts
 * from 0. The name must not be freed. */
MPM_C_API const char* mpm_operator_type(int index);
/* Returns NULL if there is no such operator. mpm_operator_free() releases the operator. */
MPM_C_API mpm_operator* mpm_operator_new(const char* type);
/* Set an attribute; must be called before mpm_operator_build(). count: at least 1. */
MPM_C_API int mpm_operator_set_ints(mpm_operator* op, const char* name, const int* values, int count);
MPM_C_API int mpm_operator_set_reals(mpm_operator* op, const char* name, const double* values, int count);
MPM_C_API int mpm_operator_set_text(mpm_operator* op, const char* name, const char* value);
/* Adds the operator's next constant; must be called before mpm_operator_build(). The numbers are not copied,
 * so they must not change until mpm_operator_free(). */
MPM_C_API int mpm_operator_add_constant(mpm_operator* op, const mpm_array* constant);
/* Checks the attributes and creates the operator. */
MPM_C_API int mpm_operator_build(mpm_operator* op);
/* Writes the type and sizes of each output, but of no more than `capacity` outputs. Reads only the sizes of
 * `inputs`, and does not change the `data` of `outputs`. Returns the operator's number of outputs. */
MPM_C_API int mpm_operator_outputs(mpm_operator* op, const mpm_array* inputs, int count, mpm_array* outputs,
                                   int capacity);
/* Computes the first `capacity` outputs, at least 1, from `count` inputs. Inputs are MPM_F32, or MPM_I32 for
 * maps; outputs are MPM_F32, with the sizes of mpm_operator_outputs(). */
MPM_C_API int mpm_operator_run(mpm_operator* op, const mpm_array* inputs, int count, const mpm_array* outputs,
                               int capacity);
/* op: may be NULL. */
MPM_C_API void mpm_operator_free(mpm_operator* op);

#ifdef __cplusplus
}
#endif

#endif
