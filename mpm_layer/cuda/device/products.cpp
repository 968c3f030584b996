#include "mpm_layer/cuda/device/products.hpp"

#include <cstdint>

namespace mpm::cuda {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;
// A video of ragged batches meets ever new shapes; so many plans are kept before all are made again.
constexpr size_t kMostPlans = 4096;

class Layout {
public:
    /// As cuBLAS counts: column by column.
    Layout(cudaDataType_t type, int rows, int columns, size_t stride) {
        MPM_BLAS_CHECK(
            cublasLtMatrixLayoutCreate(&m_layout, type, rows, columns, static_cast<int64_t>(stride)));
    }
    ~Layout() { cublasLtMatrixLayoutDestroy(m_layout); }
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
    operator cublasLtMatrixLayout_t() const { return m_layout; }

private:
    cublasLtMatrixLayout_t m_layout = nullptr;
};

class Description {
public:
    explicit Description(cublasComputeType_t compute) {
        MPM_BLAS_CHECK(cublasLtMatmulDescCreate(&m_description, compute, CUDA_R_32F));
    }
    ~Description() { cublasLtMatmulDescDestroy(m_description); }
    Description(const Description&) = delete;
    Description& operator=(const Description&) = delete;
    operator cublasLtMatmulDesc_t() const { return m_description; }

    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
        MPM_BLAS_CHECK(cublasLtMatmulDescSetAttribute(m_description, attribute, &value, sizeof value));
    }

private:
    cublasLtMatmulDesc_t m_description = nullptr;
};

class Preference {
public:
    Preference() { MPM_BLAS_CHECK(cublasLtMatmulPreferenceCreate(&m_preference)); }
    ~Preference() { cublasLtMatmulPreferenceDestroy(m_preference); }
    Preference(const Preference&) = delete;
    Preference& operator=(const Preference&) = delete;
    operator cublasLtMatmulPreference_t() const { return m_preference; }

    template <class Value>
    void set(cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
        MPM_BLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(m_preference, attribute, &value, sizeof value));
    }

private:
    cublasLtMatmulPreference_t m_preference = nullptr;
};

}  // namespace

// To cuBLAS, which counts by columns, our rows are columns: output^T = weight * input^T.
struct Products::Plan {
    explicit Plan(const Product& p)
        : description(p.types.compute),
          weight(p.types.operands, p.depth, p.columns, p.weightStride),
          input(p.types.operands, p.depth, p.rows, p.inputStride),
          output(p.types.output, p.columns, p.rows, p.outputStride) {
        description.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
        if (!p.bias) return;
        description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
        description.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, p.types.output);
        description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    }

    Description description;
    Layout weight, input, output;
    cublasLtMatmulHeuristicResult_t chosen{};
};

Products::Products() {
    m_workspace.reserve(kWorkspace);
    MPM_BLAS_CHECK(cublasLtCreate(&m_handle));
}

Products::~Products() {
    m_plans.clear();
    if (m_handle) cublasLtDestroy(m_handle);
}

std::unique_ptr<Products::Plan> Products::makePlan(const Product& p) {
    auto plan = std::make_unique<Plan>(p);
    Preference preference;
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspace));
    // Parts of a sum that is split meet in f32 and in a fixed order.
    preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(m_handle, plan->description, plan->weight, plan->input, plan->output,
                                       plan->output, preference, 1, &plan->chosen, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) {
        throw Unsupported("cuBLASLt has no product of " + std::to_string(p.rows) + " rows, " +
                          std::to_string(p.depth) + " deep, with " + std::to_string(p.columns) + " columns");
    }
    MPM_BLAS_CHECK(status);
    return plan;
}

Products::Plan& Products::planFor(const Product& p) {
    const Shape shape{p.rows,         p.depth,          p.columns,      p.inputStride,   p.weightStride,
                      p.outputStride, p.types.operands, p.types.output, p.types.compute, p.bias != nullptr,
                      p.add};
    const auto found = m_plans.find(shape);
    if (found != m_plans.end()) return *found->second;
    if (m_plans.size() >= kMostPlans) m_plans.clear();
    return *m_plans.emplace(shape, makePlan(p)).first->second;
}

void Products::run(const Product& p, cudaStream_t stream) {
    if (p.rows == 0) return;
    Plan& plan = planFor(p);
    if (p.bias) plan.description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const float one = 1, keep = p.add ? 1.0f : 0.0f;
    MPM_BLAS_CHECK(cublasLtMatmul(m_handle, plan.description, &one, p.weight, plan.weight, p.input,
                                  plan.input, &keep, p.output, plan.output, p.output, plan.output,
                                  &plan.chosen.algo, m_workspace.data(), kWorkspace, stream));
}

}  // namespace mpm::cuda
