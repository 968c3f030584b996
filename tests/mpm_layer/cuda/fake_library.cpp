// Replaces libmpm_cuda. Macros set the version, the driver and the devices that this library reports.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "mpm_layer/cuda/interface/entry.h"

#ifndef FAKE_DEVICES
#define FAKE_DEVICES 0
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION MPM_CUDA_ENTRY_VERSION
#endif
#ifndef FAKE_SIZE
#define FAKE_SIZE sizeof(MpmCudaEntry)
#endif

namespace {

int deviceCount(int32_t* count, MpmCudaError* error) {
#ifdef FAKE_NO_DRIVER
    std::snprintf(error->text, sizeof error->text, "there is no NVIDIA driver");
    (void)count;
    return MPM_CUDA_UNSUPPORTED;
#else
    (void)error;
    *count = FAKE_DEVICES;
    return MPM_CUDA_OK;
#endif
}

// Device 0 is too old for libmpm_cuda. The other devices are new enough.
int deviceInfo(int32_t index, MpmCudaDevice* device, MpmCudaError*) {
    *device = {"Fake", index == 0 ? 7 : 9, 0, 1, 1};
    return MPM_CUDA_OK;
}

#ifdef FAKE_RECORDS
// This variant of the library records calls. Merges keep all tokens.
std::string g_log;

void record(const char* format, ...) {
    char line[256];
    va_list values;
    va_start(values, format);
    std::vsnprintf(line, sizeof line, format, values);
    va_end(values);
    g_log += line;
    g_log += '\n';
}

}  // namespace

struct MpmCudaEncoder {
    int32_t device, dim;
};
struct MpmCudaSession {
    int32_t tokens;
    std::vector<float> rows;  // rows of image tokens
};

namespace {

int createEncoder(int32_t device, const MpmCudaEncoderDescription* description, MpmCudaEncoder** encoder,
                  MpmCudaError*) {
    *encoder = new MpmCudaEncoder{device, description->dim};
    return MPM_CUDA_OK;
}
void destroyEncoder(MpmCudaEncoder* encoder) {
    delete encoder;
}
int begin(MpmCudaEncoder* encoder, const MpmCudaInput* input, MpmCudaSession** session, MpmCudaError*) {
    record("begin on %d: %d images of %d rows at %p, on the device %d, stream %p", encoder->device,
           input->images, input->rows_per_image, static_cast<const void*>(input->tokens),
           input->tokens_on_device, input->stream);
    record("reads counts %d, fixed %d, graphs %d, nearest %d", input->read_counts, input->fixed_kernels,
           input->graphs, input->nearest);
    const int32_t special = input->options.special_tokens;
    *session = new MpmCudaSession{input->rows_per_image - special, {}};
    if (input->tokens_on_device) return MPM_CUDA_OK;
    const size_t dim = encoder->dim, image = input->rows_per_image * dim;
    for (int32_t i = 0; i < input->images; ++i) {
        const float* tokens = input->tokens + i * image;
        (*session)->rows.insert((*session)->rows.end(), tokens + special * dim, tokens + image);
    }
    return MPM_CUDA_OK;
}
int reduce(MpmCudaSession*, const MpmCudaStage* stage, MpmCudaError*) {
    record("reduce %s", stage->ids ? "as told" : "by pairs");
    return MPM_CUDA_OK;
}
int attend(MpmCudaSession*, int32_t block, MpmCudaError*) {
    record("attend %d", block);
    return MPM_CUDA_OK;
}
int runMlp(MpmCudaSession*, int32_t block, MpmCudaError*) {
    record("run_mlp %d", block);
    return MPM_CUDA_OK;
}
int emit(MpmCudaSession*, int32_t norm, float* output, int32_t onDevice, MpmCudaError*) {
    record("emit to %p, norm %d, on the device %d", static_cast<void*>(output), norm, onDevice);
    return MPM_CUDA_OK;
}
int finish(MpmCudaSession*, MpmCudaTimes* times, MpmCudaError*) {
    *times = {0.25, 0.5};
    record("finish");
    return MPM_CUDA_OK;
}
int stageTokens(MpmCudaSession* session, int32_t, int32_t, int32_t* tokens, MpmCudaError*) {
    *tokens = session->tokens;
    return MPM_CUDA_OK;
}
int stageMap(MpmCudaSession* session, int32_t, int32_t, int32_t* ids, MpmCudaError*) {
    for (int32_t i = 0; i < session->tokens; ++i)
        ids[i] = i;
    return MPM_CUDA_OK;
}
int readRows(MpmCudaSession* session, float* rows, float*, float*, MpmCudaError*) {
    std::copy(session->rows.begin(), session->rows.end(), rows);
    return MPM_CUDA_OK;
}
void end(MpmCudaSession* session) {
    delete session;
}
int restore(int32_t device, const MpmCudaRestore* r, MpmCudaError*) {
    record("restore on %d: %d images of %d rows to %d of %d, %d special", device, r->images, r->merged_rows,
           r->rows, r->dim, r->special_tokens);
    const int32_t tokens = r->rows - r->special_tokens;
    for (int32_t at = 0; at < r->images * r->rows; ++at) {
        const int32_t image = at / r->rows, row = at % r->rows, token = row - r->special_tokens;
        const int32_t kept = token < 0 ? row : r->special_tokens + r->map[image * tokens + token];
        std::copy_n(r->merged + static_cast<size_t>(image * r->merged_rows + kept) * r->dim, r->dim,
                    r->output + static_cast<size_t>(at) * r->dim);
    }
    return MPM_CUDA_OK;
}

void fillIn(MpmCudaEntry& entry) {
    entry.create_encoder = createEncoder;
    entry.destroy_encoder = destroyEncoder;
    entry.begin = begin;
    entry.reduce = reduce;
    entry.attend = attend;
    entry.run_mlp = runMlp;
    entry.emit = emit;
    entry.finish = finish;
    entry.stage_tokens = stageTokens;
    entry.stage_map = stageMap;
    entry.read_rows = readRows;
    entry.end = end;
    entry.restore = restore;
}

#else
void fillIn(MpmCudaEntry&) {}
#endif

const MpmCudaEntry* makeEntry() {
    static MpmCudaEntry entry{};
    entry.version = FAKE_VERSION;
    entry.size = FAKE_SIZE;
    entry.device_count = deviceCount;
    entry.device_info = deviceInfo;
    fillIn(entry);
    return &entry;
}

}  // namespace

#ifdef FAKE_OLDER
// This variant of the library supports only an older version of the interface.
extern "C" const MpmCudaEntry* mpm_cuda_entry(uint32_t version) {
    return version == MPM_CUDA_ENTRY_VERSION - 1 ? makeEntry() : nullptr;
}
#elif !defined(FAKE_WITHOUT_ENTRY)
extern "C" const MpmCudaEntry* mpm_cuda_entry(uint32_t) {
    return makeEntry();
}
#else
extern "C" const MpmCudaEntry* another_function() {
    return makeEntry();
}
#endif

#ifdef FAKE_RECORDS
extern "C" const char* fake_log() {
    return g_log.c_str();
}
extern "C" void fake_forget() {
    g_log.clear();
}
#endif
