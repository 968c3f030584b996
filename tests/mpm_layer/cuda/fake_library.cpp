// A libmpm_cuda in name only: what its loader is told about version, driver and devices is chosen when it is
// compiled.
#include <cstdarg>
#include <cstdio>
#include <string>

#include "mpm_layer/cuda/entry.h"

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

// The first device is too old, the others are not.
int deviceInfo(int32_t index, MpmCudaDevice* device, MpmCudaError*) {
    *device = {"Fake", index == 0 ? 7 : 9, 0, 1, 1};
    return MPM_CUDA_OK;
}

#ifdef FAKE_RECORDS
// A library that computes nothing and writes down what it is asked to; every merge leaves all tokens.
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
    int32_t device;
};
struct MpmCudaSession {
    int32_t tokens;
};

namespace {

int createEncoder(int32_t device, const MpmCudaEncoderDescription*, MpmCudaEncoder** encoder, MpmCudaError*) {
    *encoder = new MpmCudaEncoder{device};
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
    *session = new MpmCudaSession{input->rows_per_image - input->options.special_tokens};
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
int feed(MpmCudaSession*, int32_t block, MpmCudaError*) {
    record("feed %d", block);
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
void end(MpmCudaSession* session) {
    delete session;
}

void fillIn(MpmCudaEntry& entry) {
    entry.create_encoder = createEncoder;
    entry.destroy_encoder = destroyEncoder;
    entry.begin = begin;
    entry.reduce = reduce;
    entry.attend = attend;
    entry.feed = feed;
    entry.emit = emit;
    entry.finish = finish;
    entry.stage_tokens = stageTokens;
    entry.stage_map = stageMap;
    entry.end = end;
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
// A library that knows other versions only.
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
