// A benchmark of oneDNN's matrix products at the sizes of ViT-T to B. Its best rate serves as the machine's
// peak.
//   OMP_NUM_THREADS=2 mpm_bench_onednn
// Prints a line of JSON: the rate at the best size in f32 and in bf16, in GFLOP/s. The product has
// as many rows as a 512x512 image has tokens. The rate is a median of many runs, as in the other benchmarks.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

namespace {

using dnnl::memory;

constexpr memory::dim kRows = 1024;
constexpr int kRuns = 40;

dnnl::matmul::primitive_desc product(const dnnl::engine& engine, memory::data_type type, memory::dim depth,
                                     memory::dim columns) {
    const memory::desc left({kRows, depth}, type, memory::format_tag::ab);
    const memory::desc weights({depth, columns}, type, memory::format_tag::any);  // oneDNN chooses the layout
    const memory::desc out({kRows, columns}, type, memory::format_tag::ab);
#if DNNL_VERSION_MAJOR >= 3
    return {engine, left, weights, out};
#else
    return {dnnl::matmul::desc(left, weights, out), engine};
#endif
}

/// Returns the median rate of many runs, in FLOP/s.
double rate(const dnnl::engine& engine, memory::data_type type, memory::dim depth, memory::dim columns) {
    const auto description = product(engine, type, depth, columns);
    memory left(description.src_desc(), engine), weights(description.weights_desc(), engine),
        out(description.dst_desc(), engine);
    for (memory* operand : {&left, &weights}) {
        auto* bytes = static_cast<unsigned char*>(operand->get_data_handle());
        std::fill(bytes, bytes + operand->get_desc().get_size(), 0x3C);  // a small number in both types
    }
    dnnl::stream stream(engine);
    const dnnl::matmul run(description);
    std::vector<double> seconds;
    for (int i = 0; i < kRuns; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run.execute(stream, {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, out}});
        stream.wait();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        seconds.push_back(time.count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
    return 2.0 * kRows * depth * columns / seconds[kRuns / 2];
}

double bestRate(const dnnl::engine& engine, memory::data_type type) {
    double best = 0;
    for (memory::dim dim : {192, 384, 768}) {
        for (auto [depth, columns] : std::vector<std::pair<memory::dim, memory::dim>>{
                 {dim, 3 * dim}, {dim, dim}, {dim, 4 * dim}, {4 * dim, dim}})
            best = std::max(best, rate(engine, type, depth, columns));
    }
    return best / 1e9;
}

}  // namespace

int main() {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const dnnl_version_t* version = dnnl_version();
    std::printf("{\"peer\": \"oneDNN %d.%d.%d\", \"f32\": %.1f", version->major, version->minor,
                version->patch, bestRate(engine, memory::data_type::f32));
    try {
        std::printf(", \"bf16\": %.1f", bestRate(engine, memory::data_type::bf16));
    } catch (const dnnl::error&) {
        // This processor does not support products in bf16.
    }
    std::printf("}\n");
}
