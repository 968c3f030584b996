#include "mpm_layer/encoder/shape.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"

namespace mpm {

EncoderShape encoderShape(const EncoderConfig& config, const NamedWeights& weights) {
    const std::string first = std::to_string(config.firstBlock);
    const cv::Mat& qkv = weights.raw(first + ".qkv.weight");
    if (qkv.dims != 2) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 "mpm: weight " + first + ".qkv.weight must be a matrix [dim, 3 * heads * head size]");
    }
    EncoderShape shape;
    shape.dim = qkv.size[0];
    if (config.dim && config.dim != shape.dim) {
        CV_Error(cv::Error::StsUnmatchedSizes,
                 cv::format("mpm: attribute dim is %d, but weight %s.qkv.weight has %d rows", config.dim,
                            first.c_str(), shape.dim));
    }
    shape.heads = config.heads;
    const int inner = qkv.size[1] / 3;
    if (qkv.size[1] % 3 != 0 || inner % shape.heads != 0) {
        CV_Error(cv::Error::StsUnmatchedSizes, cv::format("mpm: attribute heads is %d, which does not divide "
                                                          "the %d columns of weight %s.qkv.weight into "
                                                          "three times heads",
                                                          shape.heads, qkv.size[1], first.c_str()));
    }
    shape.headSize = inner / shape.heads;
    if (shape.dim < 1 || shape.headSize < 1)
        CV_Error(cv::Error::StsBadArg, "mpm: weight " + first + ".qkv.weight must not be empty");
    shape.attentionScale =
        config.scale != 0 ? config.scale : 1.0f / std::sqrt(static_cast<float>(shape.headSize));
    return shape;
}

RotaryShape rotaryShape(const NamedWeights& weights, const std::string& prefix, const EncoderShape& shape) {
    RotaryShape rotary;
    rotary.name = weights.has(prefix + "rope.cos") ? prefix + "rope." : "rope.";
    if (!weights.has(rotary.name + "cos")) return rotary;
    const cv::Mat& cosine = weights.raw(rotary.name + "cos");
    const cv::Mat& sine = weights.raw(rotary.name + "sin");
    rotary.tables = cosine.dims == 3 ? cosine.size[0] : 1;
    rotary.positions = cosine.dims == 3 ? cosine.size[1] : cosine.size[0];
    const auto expected = checkedProduct<size_t>(rotary.tables, rotary.positions, shape.headSize);
    if (rotary.positions < 1 || (rotary.tables != 1 && rotary.tables != shape.heads) ||
        cosine.total() != expected || sine.total() != expected) {
        CV_Error(
            cv::Error::StsUnmatchedSizes,
            cv::format("mpm: weights %scos and %ssin must be [N, %d] or [%d, N, %d]", rotary.name.c_str(),
                       rotary.name.c_str(), shape.headSize, shape.heads, shape.headSize));
    }
    return rotary;
}

void checkRotary(int positions, int imageTokens) {
    if (positions == 0 || positions == imageTokens) return;
    CV_Error(
        cv::Error::StsUnmatchedSizes,
        cv::format("mpm: rotary tables are for %d image tokens, the input has %d", positions, imageTokens));
}

bool rotatesByWindow(const EncoderConfig& config, int block, int positions, int imageTokens) {
    const int window = config.window.area();
    const bool global = config.isGlobal(block);
    if (positions != 0 && positions == window && (positions != imageTokens || !global)) return true;
    checkRotary(positions, imageTokens);
    const bool padded = config.grid.width % std::max(config.window.width, 1) != 0 ||
                        config.grid.height % std::max(config.window.height, 1) != 0;
    if (positions != 0 && !global && padded) {
        CV_Error(
            cv::Error::StsUnmatchedSizes,
            cv::format("mpm: rotary tables of block %d are for the %d tokens of the image; padding needs "
                       "tables for the %d of a window",
                       block, positions, window));
    }
    return false;
}

}  // namespace mpm
