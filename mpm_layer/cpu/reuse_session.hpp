// A forward of the rows that are computed again, which attend to all rows their stream remembers.
#pragma once

#include <memory>
#include <vector>

#include "mpm_layer/cpu/cpu_session.hpp"
#include "mpm_layer/cpu/token_memory.hpp"

namespace mpm::cpu {

class ReuseSession final : public CpuSession {
public:
    ReuseSession(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
                 const SessionInput& input, const std::vector<RememberedImage>& images);

    void attend(int block) override;
    void runMlp(int block) override;
    void emit(bool norm, cv::Mat& output) override;
    std::vector<ImageReport> takeReport() override { return std::move(m_reports); }

private:
    void project(int block, int first, int count);
    void keep(int block, int first, int count);
    void keepPadding(int block);
    TokenMemory& memory(int image) const { return static_cast<TokenMemory&>(*m_images[image].memory); }
    const float* keyBiasOf(int image) const;
    void keepOutput(int image, const Span& span, const float* rows);

    const std::vector<RememberedImage> m_images;
    cv::Mat m_keyBias;
    std::vector<int> m_inputs;  ///< of each row of the batch, the row of its image
    std::vector<ImageReport> m_reports;
    int m_tap = 0;
};

}  // namespace mpm::cpu
