// Computes cuBLASLt's products with plain loops. Every sum adds the terms in the order of the depth, so the
// bits of a row do not depend on the other rows.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/cuda/memory.hpp"
#include "support/cuda/streams.hpp"

struct cublasLtContext {};
struct cublasLtPreferenceOpaque {};
struct cublasLtLayoutOpaque {
    cudaDataType_t type;
    std::uint64_t rows, columns;
    std::int64_t stride;
};
struct cublasLtMatmulOpaque {
    cublasComputeType_t compute;
    cublasOperation_t transA;
    cublasLtEpilogue_t epilogue;
    const void* bias;
    cudaDataType_t biasType;
};

namespace {

constexpr size_t kRows = 8, kColumns = 64;  // size of a tile of sums

/// output [rows][columns] = function(input [rows][depth] * weight [columns][depth]^T + bias) + kept * output
struct Problem {
    cublasLtMatmulOpaque how;
    cublasLtLayoutOpaque weightLayout, inputLayout, outputLayout;
    const void *weight, *input;
    void* output;
    float kept;
};

size_t sizeOf(cudaDataType_t type) {
    return type == CUDA_R_32F ? 4 : 2;
}

float valueAt(const void* from, cudaDataType_t type, size_t i) {
    if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[i]);
    if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(from)[i]);
    return static_cast<const float*>(from)[i];
}

void store(void* to, cudaDataType_t type, size_t i, float value) {
    if (type == CUDA_R_16BF) {
        static_cast<__nv_bfloat16*>(to)[i] = __float2bfloat16_rn(value);
    } else if (type == CUDA_R_16F) {
        static_cast<__half*>(to)[i] = __float2half_rn(value);
    } else {
        static_cast<float*>(to)[i] = value;
    }
}

// Rounds to TF32, which has 10 bits of fraction.
float roundedToTf32(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
}

/// Copies a matrix so that element d of column c is at [d * padded + c].
std::vector<float> columnsOf(const void* from, const cublasLtLayoutOpaque& layout, bool tf32, size_t padded) {
    std::vector<float> values(layout.rows * padded, 0.0f);
    for (size_t c = 0; c < layout.columns; ++c) {
        for (size_t d = 0; d < layout.rows; ++d) {
            const float value = valueAt(from, layout.type, c * layout.stride + d);
            values[d * padded + c] = tf32 ? roundedToTf32(value) : value;
        }
    }
    return values;
}

void multiplyTile(const float* input, size_t inputs, const float* weight, size_t weights, size_t depth,
                  float (&sums)[kRows][kColumns]) {
    std::memset(sums, 0, sizeof sums);
    for (size_t d = 0; d < depth; ++d) {
        for (size_t r = 0; r < kRows; ++r) {
            const float x = input[d * inputs + r];
            for (size_t c = 0; c < kColumns; ++c)
                sums[r][c] += x * weight[d * weights + c];
        }
    }
}

float finished(const Problem& p, float sum, size_t column) {
    const int epilogue = p.how.epilogue;
    if (epilogue & CUBLASLT_EPILOGUE_BIAS) sum += valueAt(p.how.bias, p.how.biasType, column);
    if (epilogue & CUBLASLT_EPILOGUE_RELU) sum = std::max(sum, 0.0f);
    if (epilogue & CUBLASLT_EPILOGUE_GELU)
        sum = 0.5f * sum * (1.0f + std::tanh(0.79788456f * (sum + 0.044715f * sum * sum * sum)));
    return sum;
}

bool isWhole(const void* data, const cublasLtLayoutOpaque& layout) {
    return emulated::isOnDevice(data,
                                ((layout.columns - 1) * layout.stride + layout.rows) * sizeOf(layout.type));
}

std::string multiply(const Problem& p) {
    const bool biased = p.how.epilogue & CUBLASLT_EPILOGUE_BIAS;
    const size_t rows = p.outputLayout.columns, columns = p.outputLayout.rows, depth = p.inputLayout.rows;
    if (!isWhole(p.weight, p.weightLayout) || !isWhole(p.input, p.inputLayout) ||
        !isWhole(p.output, p.outputLayout) ||
        (biased && !emulated::isOnDevice(p.how.bias, columns * sizeOf(p.how.biasType))))
        return "a product leaves the memory of the device";
    const bool tf32 = p.how.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const size_t paddedRows = (rows + kRows - 1) / kRows * kRows;
    const size_t paddedColumns = (columns + kColumns - 1) / kColumns * kColumns;
    const std::vector<float> input = columnsOf(p.input, p.inputLayout, tf32, paddedRows);
    const std::vector<float> weight = columnsOf(p.weight, p.weightLayout, tf32, paddedColumns);
    float sums[kRows][kColumns];
    for (size_t column = 0; column < columns; column += kColumns) {
        for (size_t row = 0; row < rows; row += kRows) {
            multiplyTile(&input[row], paddedRows, &weight[column], paddedColumns, depth, sums);
            for (size_t r = row; r < std::min(rows, row + kRows); ++r) {
                for (size_t c = column; c < std::min(columns, column + kColumns); ++c) {
                    const size_t at = r * p.outputLayout.stride + c;
                    float value = finished(p, sums[r - row][c - column], c);
                    if (p.kept != 0) value += p.kept * valueAt(p.output, p.outputLayout.type, at);
                    store(p.output, p.outputLayout.type, at, value);
                }
            }
        }
    }
    return "";
}

template <class Value>
cublasStatus_t take(Value& to, const void* value, size_t bytes) {
    if (bytes != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "invalid value";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = new cublasLtContext;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns, std::int64_t stride) {
    *layout = new cublasLtLayoutOpaque{type, rows, columns, stride};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute,
                                        cudaDataType_t) {
    *description =
        new cublasLtMatmulOpaque{compute, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr, CUDA_R_32F};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
    delete description;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
    switch (attribute) {
        case CUBLASLT_MATMUL_DESC_TRANSA:
            return take(description->transA, value, bytes);
        case CUBLASLT_MATMUL_DESC_EPILOGUE:
            return take(description->epilogue, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
            return take(description->bias, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
            return take(description->biasType, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    *preference = new cublasLtPreferenceOpaque;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t, const void*,
                                                    size_t) {
    return CUBLAS_STATUS_SUCCESS;
}

// Returns the only algorithm, which works for every shape.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
    *results = {};
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t* result) {
    *result = {};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t aLayout, const void* b,
                              cublasLtMatrixLayout_t bLayout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t cLayout, void* d, cublasLtMatrixLayout_t dLayout,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
    const bool fits = description->transA == CUBLAS_OP_T && *static_cast<const float*>(alpha) == 1 &&
                      c == d && cLayout == dLayout && aLayout->rows == bLayout->rows &&
                      dLayout->rows == aLayout->columns && dLayout->columns == bLayout->columns &&
                      aLayout->type == bLayout->type;
    if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
    const Problem problem{
        *description, *aLayout, *bLayout, *dLayout, a, b, d, *static_cast<const float*>(beta)};
    emulated::queue(stream, [=] { return multiply(problem); });
    return CUBLAS_STATUS_SUCCESS;
}
