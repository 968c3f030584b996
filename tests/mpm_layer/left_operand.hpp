#pragma once

#include <algorithm>

#include <opencv2/core.hpp>

#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::test {

/// Copies rows to memory that begins one float after an aligned address. The memory has the extra rows that
/// product() may read.
class LeftOperand {
public:
    LeftOperand(const cv::Mat& rows, size_t stride) : m_buffer(kernels::paddedSize(rows.rows, stride) + 1) {
        std::fill_n(m_buffer.data(), kernels::paddedSize(rows.rows, stride) + 1, 1e30f);
        for (int r = 0; r < rows.rows; ++r)
            std::copy_n(rows.ptr<float>(r), rows.cols, m_buffer.data() + 1 + r * stride);
    }
    const float* data() const { return m_buffer.data() + 1; }

private:
    kernels::Buffer m_buffer;
};

}  // namespace mpm::test
