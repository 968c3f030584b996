// A convolution of images that are first enlarged bilinearly.
//
// Enlarging is linear, so the products may come first. The class multiplies the small image by each element
// of the kernel, enlarges each result, shifts the result by the element's place in the kernel, and adds all
// results. If an image is enlarged to twice its rows and columns, this order needs a quarter of the products.
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
    /// enlarged image, with a stride of 1 and a single group of channels.
    EnlargedConvolution(const float* weights, const ConvShape& shape, const Enlarging& from,
                        Precision precision);

    /// Returns the precision of the packed weights. If any part of the weights is in f32, returns f32.
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
