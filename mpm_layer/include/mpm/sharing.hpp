// Content-aware token sharing (CTS) in a network. CTS chooses the superpatches (2x2 patches) whose patches
// share a token. <mpm/mpm.hpp> has everything else.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <mpm/mpm.hpp>

namespace mpm {

class SharingControl;

/// Handle of the MpmShare inside a network; cheap to copy. A setting takes effect at the next forward, and
/// remains until it is changed. A network and its handles belong to a single thread at a time.
class MPM_API Sharing {
public:
    /// mpm::sharing() calls this constructor. @throws cv::Exception if `control` is null
    explicit Sharing(std::shared_ptr<SharingControl> control);

    cv::Size grid() const;  ///< columns and rows of superpatches
    int shared() const;     ///< number of superpatches with a shared token; initially from the model file

    /// @param count number of superpatches whose patches share a token, 0..grid().area()
    /// @throws cv::Exception if `count` is out of range
    void setShared(int count);

    /// Replaces the scores of the policy network. Patches share a token in the superpatches with the highest
    /// scores. Among equal scores the lowest index comes first; NaN is below all other scores.
    /// @param scores a matrix for each image of the batch, or a single matrix for all images: CV_32F with the
    ///     size grid(); {} restores the scores of the policy network
    /// @throws cv::Exception if a matrix has another size or type; the next forward throws if the number of
    ///     matrices is neither 1 nor the batch size
    void setScores(const std::vector<cv::Mat>& scores);

private:
    std::shared_ptr<SharingControl> m_control;
};

/// @param net a network; call registerLayers() before reading it
/// @return the handle of the first MpmShare; std::nullopt if the network has none
MPM_API std::optional<Sharing> sharing(cv::dnn::Net& net);

}  // namespace mpm
