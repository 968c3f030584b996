// A Markdown table of results and required values (bars), and the measurement of a stream's memory.
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
    /// Adds a line with the memory that a network from make() needs for each further stream of images like
    /// `image`. Forks, so it must be called before any thread starts.
    void addMemory(const std::string& precision, double mostMb,
                   const std::function<pipeline::Network()>& make, const cv::Mat& image);
    void miss(bool missed) { m_missed += missed; }
    int missed() const { return m_missed; }

private:
    int m_missed = 0;
};

}  // namespace mpm::bench
