// Products of rows with weights, which cuBLASLt computes. Each shape is planned once.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "mpm_layer/cuda/device/resources.hpp"

namespace mpm::cuda {

struct ProductTypes {
    cudaDataType_t operands;
    cudaDataType_t output;
    cublasComputeType_t compute;
};

/// Functions that cuBLASLt can apply to a sum before it is stored. The only GELU is the tanh form.
enum class Epilogue { None, GeluTanh, Relu };

/// The product output [rows][columns] = input [rows][depth] * weight^T + bias. If `add` is true, the product
/// is added to the output. Strides are in elements; weight is [columns][weightStride]. Bias has the output's
/// type and may be null.
struct Product {
    ProductTypes types;
    int rows, depth, columns;
    const void* input;
    size_t inputStride;
    const void* weight;
    size_t weightStride;
    const void* bias;
    void* output;
    size_t outputStride;
    bool add;
    Epilogue epilogue = Epilogue::None;
    /// True: the same kernel is used for any number of rows, so a row's result does not depend on this
    /// number.
    bool fixed = false;
};

class Products {
public:
    Products();
    ~Products();
    Products(const Products&) = delete;
    Products& operator=(const Products&) = delete;

    /// Returns false if cuBLASLt has no kernel for the product.
    bool has(const Product& product) { return planFor(product) != nullptr; }
    void run(const Product& product, cudaStream_t stream);

private:
    struct Plan;
    using Shape = std::tuple<int, int, int, size_t, size_t, size_t, int, int, int, int, bool, bool, bool>;

    Plan* planFor(const Product& product);
    std::unique_ptr<Plan> makePlan(const Product& product);
    bool choose(Plan& plan, cublasLtReductionScheme_t reductions);
    bool take(Plan& plan, const Plan& other);

    Handle<cublasLtHandle_t, cublasLtDestroy> m_handle;  ///< used by the plans
    DeviceBuffer<unsigned char> m_workspace;
    std::map<Shape, std::unique_ptr<Plan>> m_plans;
};

}  // namespace mpm::cuda
