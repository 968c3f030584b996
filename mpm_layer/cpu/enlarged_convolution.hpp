// A convolution of images that are first enlarged bilinearly.
//
// Enlarging is linear, so it may come after the products: the small image is multiplied by each element of
// the kernel, the results are enlarged, shifted by the place of the element, and summed. An image that is
// enlarged to twice its rows and columns needs a quarter of the products.
#pragma once

#include <vector>

#include "mpm_layer/cpu/convolution.hpp"

namespace mpm::cpu {

struct Enlarging {
    int rows, columns;  ///< of the image before it is enlarged
    bool alignCorners;
};

class EnlargedConvolution {
public:
    /// `weights` and `precision` are as for ConvWeights. `shape` is the shape of the convolution of the
    /// enlarged image. It must have a stride of 1 and a single group of channels.
    EnlargedConvolution(const float* weights, const ConvShape& shape, const Enlarging& from,
                        Precision precision);

    /// The precision is f32 if some weights would lose too much in int8.
    Precision precision() const;
    bool fits(const ConvShape& shape, const Enlarging& from) const;
    /// Computes output = end(convolution of the enlarged images). Runs on OpenCV's threads; the bits depend
    /// neither on the threads nor on the batch.
    void run(const float* images, int count, const ConvEnd& end, float* output) const;

private:
    struct Part {
        int outs;  ///< output channels
        ConvWeights weights;
    };

    ConvShape smallShape(int outs) const;

    ConvShape m_shape;
    Enlarging m_from;
    std::vector<Part> m_parts;
};

}  // namespace mpm::cpu
