// Stores batches of measurements like the monitor, and prints the number of each stored batch. tests/faults
// runs this program with faults.
#include <cstdio>
#include <iostream>

#include "pipeline/store/store.hpp"

namespace {

using namespace mpm::pipeline;

std::vector<Measurement> batch(int number) {
    std::vector<Measurement> measurements(3);
    for (size_t i = 0; i < measurements.size(); ++i) {
        Measurement& m = measurements[i];
        m.time = Millis(1'700'000'000'000 + 60'000 * number + static_cast<int>(i));
        m.frame = 3 * number + static_cast<int>(i);
        m.tokensIn = 96;
        m.stageTokens = {70, 40};
        m.classShares.assign(40, 0.025);
        m.regions = {{"gate", 12, 7, {0.5, 0.5}}};
    }
    return measurements;
}

void keep(const std::string& path, int from, int to) {
    Store store(path);
    const std::int64_t source = store.source("camera");
    for (int number = from; number < to; ++number) {
        store.add(source, batch(number));
        std::cout << "kept " << number << std::endl;
        store.addEvent(source, {Millis(1'700'000'000'000), "day", "batch " + std::to_string(number)});
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 4) keep(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
        return argc == 4 ? 0 : 2;
    } catch (const std::bad_alloc&) {
        std::fputs("store: out of memory\n", stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "store: %s\n", error.what());
    }
    return 1;
}
