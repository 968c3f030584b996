// Chains of encoder segments as a network runs them, without cv::dnn.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "mpm_layer/encoder/chain.hpp"
#include "mpm_layer/encoder_suite.hpp"

namespace mpm::test {

inline MergeMap mapOf(const std::vector<int>& ids) {
    return toMergeMap(cv::Mat(ids, true).reshape(1, 1), "a test's map");
}

/// Runs the segments of cutEncoder in order.
class ChainRun {
public:
    ChainRun(const Target& target, const EncoderCase& whole, const std::vector<int>& cuts)
        : m_segments(cutEncoder(whole, cuts)) {
        const ReadingNetwork reading;
        for (const EncoderCase& segment : m_segments) {
            const auto place = std::make_shared<NetworkPlace>();
            m_control = place->join(segment.config);
            m_runners.push_back(std::make_unique<EncoderRunner>(m_control, segment.config, place));
            m_runners.back()->setWeights(segment.weights);
        }
        m_control->change([&](Settings& s) {
            s.device = target.device;
            s.precision = target.precision;
        });
    }

    EncoderControl& control() { return *m_control; }

    /// `injected` is added to the tokens before segments that start at these blocks.
    cv::Mat forward(const cv::Mat& batch, const std::map<int, cv::Mat>& injected = {},
                    const cv::Mat& keyBias = cv::Mat()) {
        SessionInput input;
        input.tokens = batch.clone();
        input.keyBias = keyBias;
        for (size_t s = 0; s < m_segments.size(); ++s) {
            const auto addend = injected.find(m_segments[s].config.firstBlock);
            if (addend != injected.end()) input.tokens += addend->second;
            std::vector<cv::Mat> out(1);
            out[0].create(batch.dims, batch.size.p, CV_32F);
            const std::vector<cv::Mat> maps = m_runners[s]->run(input, out);
            input.tokens = out[0];
            input.maps.clear();
            for (const cv::Mat& map : maps)
                input.maps.push_back(toMergeMap(map, "the map between two segments"));
        }
        return input.tokens;
    }

private:
    std::vector<EncoderCase> m_segments;
    std::shared_ptr<EncoderControl> m_control;
    std::vector<std::unique_ptr<EncoderRunner>> m_runners;
};

/// A forward of an encoder with a map at entry.
inline Ran runWithMaps(const Target& target, const EncoderCase& encoder, const cv::Mat& batch,
                       const std::vector<MergeMap>& maps, const cv::Mat& keyBias = cv::Mat()) {
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    control->change([&](Settings& s) {
        s.device = target.device;
        s.precision = target.precision;
    });
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    Ran ran;
    ran.outputs.resize(encoder.config.taps.size());
    for (cv::Mat& out : ran.outputs)
        out.create(batch.dims, batch.size.p, CV_32F);
    SessionInput input;
    input.tokens = batch;
    input.keyBias = keyBias;
    input.maps = maps;
    runner.run(input, ran.outputs);
    ran.report = control->report();
    return ran;
}

}  // namespace mpm::test
