// Lines of results beside their bars, as a Markdown table, and the memory of a stream.
#pragma once

#include <functional>
#include <string>

#include "pipeline/segment/network.hpp"

namespace mpm::bench {

class Lines {
public:
    void head() const;
    void add(const std::string& name, const std::string& precision, const std::string& measured,
             const std::string& bar, bool reached);
    /// The memory of another stream of a network that make() gives, if it sees `image`. Before any thread.
    void addMemory(const std::string& precision, double mostMb,
                   const std::function<pipeline::Network()>& make, const cv::Mat& image);
    void miss(bool missed) { m_missed += missed; }
    int missed() const { return m_missed; }

private:
    int m_missed = 0;
};

}  // namespace mpm::bench
