#include "bench/reuse/lines.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "bench/reuse/hour.hpp"

namespace mpm::bench {
namespace {

// Returns the mean memory of a stream in MB. Does not count the first streams, which warm up the process.
double streamMb(pipeline::Network network, const cv::Mat& image) {
    constexpr int kFirst = 4, kStreams = 20;
    const cv::Mat blob = network.blob({image});
    double before = 0;
    for (int stream = 0; stream < kStreams; ++stream) {
        network.encoder().setStreams({stream});
        for (int forward = 0; forward < 2; ++forward) {
            if (network.detects())
                network.forwardDetector(blob, {image.size()});
            else
                network.forward(blob);
        }
        if (stream == kFirst) before = residentMb();
    }
    return (residentMb() - before) / (kStreams - 1 - kFirst);
}

}  // namespace

void Lines::head() const {
    std::cout << "| | precision | measured | bar | |\n|---|---|---|---|---|\n";
}

void Lines::add(const std::string& name, const std::string& precision, const std::string& measured,
                const std::string& bar, bool reached) {
    miss(!reached);
    std::cout << "| " << name << " | " << precision << " | " << measured << " | " << bar << " | "
              << (reached ? "reached" : "missed") << " |" << std::endl;
}

// Measures in a child process, because this process would reuse memory of earlier networks.
void Lines::addMemory(const std::string& precision, double mostMb,
                      const std::function<pipeline::Network()>& make, const cv::Mat& image) {
    int ends[2];
    if (pipe(ends) != 0) return;
    const pid_t child = fork();
    if (child == 0) {
        const double mb = streamMb(make(), image);
        _exit(write(ends[1], &mb, sizeof mb) == sizeof mb ? 0 : 1);
    }
    double mb = 0;
    const bool arrived = child > 0 && read(ends[0], &mb, sizeof mb) == sizeof mb;
    if (child > 0) waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    if (arrived)
        add("memory of a stream", precision, cv::format("%.1f MB", mb), cv::format("%g MB", mostMb),
            mb <= mostMb);
}

}  // namespace mpm::bench
