#include "mpm_layer/cuda/device/products.hpp"

#include <cstdint>
#include <string>

namespace mpm::cuda {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;
// If there are this many plans, all are dropped. Otherwise the number of plans would grow without limit,
// because in a video, token counts change and make new shapes.
constexpr size_t kMostPlans = 4096;
// Kernels for Product::fixed are selected for eight images of 1,024 tokens, which fill a device.
constexpr int kFixedRows = 8192;

class Layout : public Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy> {
public:
    /// A layout in the order of cuBLAS: column by column.
    Layout(cudaDataType_t type, int rows, int columns, size_t stride) {
        MPM_BLAS_CHECK(
            cublasLtMatrixLayoutCreate(address(), type, rows, columns, static_cast<int64_t>(stride)));
    }
};

class Description : public Handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> {
public:
    explicit Description(cublasComputeType_t compute) {
        MPM_BLAS_CHECK(cublasLtMatmulDescCreate(address(), compute, CUDA_R_32F));
    }

    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
        MPM_BLAS_CHECK(cublasLtMatmulDescSetAttribute(*this, attribute, &value, sizeof value));
    }
};

class Preference : public Handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> {
public:
    Preference() { MPM_BLAS_CHECK(cublasLtMatmulPreferenceCreate(address())); }

    template <class Value>
    void set(cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
        MPM_BLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(*this, attribute, &value, sizeof value));
    }
};

cublasLtEpilogue_t epilogueOf(const Product& p) {
    switch (p.epilogue) {
        case Epilogue::GeluTanh:
            return p.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
        case Epilogue::Relu:
            return p.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
        case Epilogue::None:
            break;
    }
    return p.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

std::string nameOf(const Product& p) {
    return std::to_string(p.rows) + " rows, " + std::to_string(p.depth) + " deep, with " +
           std::to_string(p.columns) + " columns" + (p.fixed ? ", by the kernel that is fixed for it" : "");
}

}  // namespace

// cuBLAS stores matrices column by column, so it treats our rows as columns: output^T = weight * input^T.
struct Products::Plan {
    explicit Plan(const Product& p)
        : description(p.types.compute),
          weight(p.types.operands, p.depth, p.columns, p.weightStride),
          input(p.types.operands, p.depth, p.rows, p.inputStride),
          output(p.types.output, p.columns, p.rows, p.outputStride) {
        description.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
        description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(p));
        if (!p.bias) return;
        description.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, p.types.output);
        description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    }

    Description description;
    Layout weight, input, output;
    cublasLtMatmulHeuristicResult_t chosen{};
};

Products::Products() {
    m_workspace.reserve(kWorkspace);
    MPM_BLAS_CHECK(cublasLtCreate(m_handle.address()));
}

Products::~Products() = default;

// Selects the kernel that cuBLASLt expects to be the fastest for the plan's shape. Returns false if there is
// none.
bool Products::choose(Plan& plan, cublasLtReductionScheme_t reductions) {
    Preference preference;
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspace));
    preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(reductions));
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(m_handle, plan.description, plan.weight, plan.input, plan.output,
                                       plan.output, preference, 1, &plan.chosen, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    MPM_BLAS_CHECK(status);
    return found > 0;
}

// Selects the kernel of another plan. Returns false if the kernel cannot compute this plan's product.
bool Products::take(Plan& plan, const Plan& other) {
    const cublasStatus_t status =
        cublasLtMatmulAlgoCheck(m_handle, plan.description, plan.weight, plan.input, plan.output, plan.output,
                                &other.chosen.algo, &plan.chosen);
    plan.chosen.algo = other.chosen.algo;
    return status == CUBLAS_STATUS_SUCCESS && plan.chosen.workspaceSize <= kWorkspace;
}

std::unique_ptr<Products::Plan> Products::makePlan(const Product& p) {
    auto plan = std::make_unique<Plan>(p);
    if (!p.fixed) {
        // A kernel may split a sum into parts. The parts are added in f32 and in a fixed order.
        const bool found = choose(*plan, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
        return found ? std::move(plan) : nullptr;
    }
    // The tile and the order of summation must be the same for every number of rows. So the kernel is
    // selected for a fixed number of rows. Sums are never split, because the parts of a split sum may depend
    // on the number of rows.
    Product usual = p;
    usual.rows = kFixedRows;
    Plan model(usual);
    if (!choose(model, CUBLASLT_REDUCTION_SCHEME_NONE)) return nullptr;
    return take(*plan, model) ? std::move(plan) : nullptr;
}

Products::Plan* Products::planFor(const Product& p) {
    const Shape shape{p.rows,
                      p.depth,
                      p.columns,
                      p.inputStride,
                      p.weightStride,
                      p.outputStride,
                      p.types.operands,
                      p.types.output,
                      p.types.compute,
                      static_cast<int>(p.epilogue),
                      p.bias != nullptr,
                      p.add,
                      p.fixed};
    const auto found = m_plans.find(shape);
    if (found != m_plans.end()) return found->second.get();
    if (m_plans.size() >= kMostPlans) m_plans.clear();
    return m_plans.emplace(shape, makePlan(p)).first->second.get();
}

void Products::run(const Product& p, cudaStream_t stream) {
    if (p.rows == 0) return;
    Plan* plan = planFor(p);
    if (!plan) throw Unsupported("cuBLASLt has no product of " + nameOf(p));
    if (p.bias) plan->description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const float one = 1, keep = p.add ? 1.0f : 0.0f;
    MPM_BLAS_CHECK(cublasLtMatmul(m_handle, plan->description, &one, p.weight, plan->weight, p.input,
                                  plan->input, &keep, p.output, plan->output, p.output, plan->output,
                                  &plan->chosen.algo, m_workspace.data(), kWorkspace, stream));
}

}  // namespace mpm::cuda
