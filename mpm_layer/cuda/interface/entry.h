/* The interface between libmpm_cuda and the library that loads it, in plain C, so that different compilers
 * may build the two libraries. A change of layout or meaning here must increase MPM_CUDA_ENTRY_VERSION. */
#ifndef MPM_CUDA_ENTRY_H
#define MPM_CUDA_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPM_CUDA_ENTRY_VERSION 4u
#define MPM_CUDA_ENTRY_NAME "mpm_cuda_entry"

/* Functions return a status. If the status is not MPM_CUDA_OK, functions also fill in the error. */
enum { MPM_CUDA_OK = 0, MPM_CUDA_FAILED = 1, MPM_CUDA_OUT_OF_MEMORY = 2, MPM_CUDA_UNSUPPORTED = 3 };

typedef struct MpmCudaError {
    char text[512];
} MpmCudaError;

enum { MPM_CUDA_F32 = 0, MPM_CUDA_TF32 = 1, MPM_CUDA_BF16 = 2, MPM_CUDA_F16 = 3 };

/* Pointers to absent parts are null. If `present` is 1, rows are normalised even without weight and bias. */
typedef struct MpmCudaNorm {
    const float* weight;
    const float* bias;
    int32_t present;
} MpmCudaNorm;

/* y = x W + b with W [depth, columns]; absent if columns is 0. */
typedef struct MpmCudaLinear {
    const float* weight;
    const float* bias;
    int32_t depth, columns;
} MpmCudaLinear;

/* Rotary tables: `cosine` and `sine` are [tables, positions, head size]; absent if `tables` is 0. */
typedef struct MpmCudaRotary {
    const float* cosine;
    const float* sine;
    int32_t tables, positions;
} MpmCudaRotary;

typedef struct MpmCudaBlock {
    MpmCudaNorm norm1, q_norm, k_norm, attention_norm, norm2, mlp_norm;
    MpmCudaLinear qkv, projection, fc1, gate, fc2;
    const float* scale1; /* LayerScale of attention; may be null */
    const float* scale2; /* LayerScale of the MLP; may be null */
    MpmCudaRotary rotary;
} MpmCudaBlock;

typedef struct MpmCudaEncoderDescription {
    int32_t dim, heads, head_size, precision;
    float attention_scale;
    MpmCudaNorm final_norm;
    const MpmCudaBlock* blocks;
    int32_t block_count;
} MpmCudaEncoderDescription;

/* Calls body(argument, i) for each i in 0..count-1, maybe on several threads. If the pointer is null,
 * libmpm_cuda runs a loop in the calling thread. */
typedef void (*MpmCudaParallel)(int32_t count, void (*body)(void* argument, int32_t index), void* argument);

/* How rows are normalised; `kind` is a NormKind of base/norm_rule.hpp. */
typedef struct MpmCudaNormRule {
    float epsilon;
    int32_t kind;
} MpmCudaNormRule;

/* Options that may differ between encoders with the same weights. */
typedef struct MpmCudaOptions {
    int32_t special_tokens, activation /* mpm::Activation */, rotary_halves;
    int32_t parallel; /* 1: attention and MLP of a block read the same rows */
    MpmCudaNormRule norm, inner_norm, final_norm;
} MpmCudaOptions;

/* How a forward is queued: kernel by kernel, or as CUDA graphs, which are recorded once for each shape.
 * MPM_CUDA_GRAPHS_AUTO: as graphs if a kernel takes less time than a launch. */
enum { MPM_CUDA_GRAPHS_NEVER = 0, MPM_CUDA_GRAPHS_ALWAYS = 1, MPM_CUDA_GRAPHS_AUTO = 2 };

/* How similarities are computed: in f32 by chains of fused multiply-adds, or on tensor cores from bf16 terms
 * that together are as precise as f32. */
enum { MPM_CUDA_NEAREST_PLAIN = 0, MPM_CUDA_NEAREST_TENSOR = 1 };

typedef struct MpmCudaInput {
    MpmCudaOptions options;
    const float* tokens; /* [images, rows_per_image, dim] */
    int32_t tokens_on_device;
    void* stream; /* cudaStream_t that writes tokens on the device; null is the legacy default stream */
    int32_t images, rows_per_image; /* special tokens included */
    const float* key_bias;          /* on the host, rows_per_image values for each image; may be null */
    int32_t key_bias_images;        /* number of key biases: 1 (the same for all images) or `images` */
    int32_t proportional;           /* 1: the logarithm of a key's size is added to the key's logits */
    /* 1: the CPU reads the number of rows after each merge, and products shrink to this number.
     * 0: the CPU never waits, and products keep the number of rows of the input. */
    int32_t read_counts;
    int32_t fixed_kernels; /* 1: the bits of an image do not depend on the other images */
    int32_t graphs, nearest;
    MpmCudaParallel parallel;
} MpmCudaInput;

/* A merge of the batch: by mutual pairs if `ids` is null, else by maps. `ids` has the maps of all images in
 * order; a map has an id for each image token before this merge. */
typedef struct MpmCudaStage {
    const int32_t* ids;
    const int32_t* clusters; /* number of clusters of each image */
    int32_t mean;            /* 0: plain, 1: weighted by cluster size, 2: weighted and scaled */
} MpmCudaStage;

/* Row special_tokens + i of an output is row special_tokens + map[i] of `merged`; special rows are
 * copied. All arrays are on the host. */
typedef struct MpmCudaRestore {
    const float* merged; /* [images, merged_rows, dim] */
    const int32_t* map;  /* [images, rows - special_tokens], values below merged_rows - special_tokens */
    float* output;       /* [images, rows, dim] */
    int32_t images, merged_rows, rows, dim, special_tokens;
    MpmCudaParallel parallel;
} MpmCudaRestore;

typedef struct MpmCudaTimes {
    double merge_ms, restore_ms;
} MpmCudaTimes;

typedef struct MpmCudaDevice {
    char name[256];
    int32_t major, minor, multiprocessors;
    uint64_t memory;
} MpmCudaDevice;

typedef struct MpmCudaEncoder MpmCudaEncoder; /* weights on a device, for any number of sessions */
typedef struct MpmCudaSession MpmCudaSession; /* a forward; belongs to a single thread */

typedef struct MpmCudaEntry {
    uint32_t version, size; /* of this structure; a library with other values is rejected */

    int (*device_count)(int32_t* count, MpmCudaError* error);
    int (*device_info)(int32_t index, MpmCudaDevice* device, MpmCudaError* error);

    int (*create_encoder)(int32_t device, const MpmCudaEncoderDescription* description,
                          MpmCudaEncoder** encoder, MpmCudaError* error);
    void (*destroy_encoder)(MpmCudaEncoder* encoder);

    /* The encoder must outlive the session. The input may be freed after begin(), except tokens on the
     * device, which must remain valid until finish(). */
    int (*begin)(MpmCudaEncoder* encoder, const MpmCudaInput* input, MpmCudaSession** session,
                 MpmCudaError* error);
    int (*reduce)(MpmCudaSession* session, const MpmCudaStage* stage, MpmCudaError* error);
    int (*attend)(MpmCudaSession* session, int32_t block, MpmCudaError* error);
    int (*run_mlp)(MpmCudaSession* session, int32_t block, MpmCudaError* error);
    /* Queues a restore of all tokens to `output`. An output on the host is complete only after finish(). */
    int (*emit)(MpmCudaSession* session, int32_t norm, float* output, int32_t output_on_device,
                MpmCudaError* error);
    /* Waits for all queued work. */
    int (*finish)(MpmCudaSession* session, MpmCudaTimes* times, MpmCudaError* error);

    /* After finish(): the number of image tokens after a stage, and the stage's map (an id for each token
     * before the stage). */
    int (*stage_tokens)(MpmCudaSession* session, int32_t stage, int32_t image, int32_t* tokens,
                        MpmCudaError* error);
    int (*stage_map)(MpmCudaSession* session, int32_t stage, int32_t image, int32_t* ids,
                     MpmCudaError* error);

    /* For merges that the CPU decides, and for encoders without blocks. Both functions wait for all queued
     * work, then copy the current state. Null pointers are skipped. counts: image tokens of each image. rows:
     * [sum of counts, dim], without special tokens. keys: [sum of counts, head size], the mean over heads of
     * the keys in the most recent attend(). sizes: image tokens that each row represents. */
    int (*read_counts)(MpmCudaSession* session, int32_t* counts, MpmCudaError* error);
    int (*read_rows)(MpmCudaSession* session, float* rows, float* keys, float* sizes, MpmCudaError* error);

    void (*end)(MpmCudaSession* session);

    int (*restore)(int32_t device, const MpmCudaRestore* request, MpmCudaError* error);
} MpmCudaEntry;

/* Returns null if the library does not support this version. */
typedef const MpmCudaEntry* (*MpmCudaEntryFunction)(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
