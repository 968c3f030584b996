// A small vision transformer in the operators of an export, put together block by block.
#pragma once

#include <functional>

#include <opencv2/core.hpp>

#include "models/onnx/ir/graph_builder.hpp"

namespace mpm::test {

using models::Attribute, models::Graph, models::GraphBuilder, models::List, models::Node, models::Shape,
    models::Tensor;

class SmallExport {
public:
    static constexpr int kRows = 6, kColumns = 8, kPatch = 8, kDim = 32, kHeads = 2, kHidden = 48;

    /// `grid` has columns x rows of patches; with an empty grid the size of the image is dynamic. With
    /// `open`, no shape holds the number of tokens.
    explicit SmallExport(int batch, cv::Size grid = {kColumns, kRows}, bool open = false);

    models::GraphBuilder& builder() { return m_builder; }
    const models::Graph& graph() const { return m_builder.graph(); }
    static cv::Mat image(int batch, cv::Size grid = {kColumns, kRows});

    int embed();                                 ///< a class token and the patches of the image
    int block(int x);                            ///< attention and MLP
    int features();                              ///< of every token, from the image: [B, 1 + N, D]
    int queries(int count);                      ///< constant tokens, for every image
    int joined(const models::List<int>& parts);  ///< tokens in a row
    int reversed(int x);                         ///< the tokens in opposite order
    int withoutFirst(int x);                     ///< all tokens but the first
    int rows(int x, int64_t first, int64_t end);
    void finish(int x);  ///< a norm, and the output

    int norm(int x);
    int linear(int x, int from, int to);
    models::Tensor random(const models::Shape& shape, float scale) { return random(shape, scale, m_rng); }
    int tokens() const { return m_tokens; }

    /// Applied to queries and keys [B, heads, T, head size] of every attention from now on.
    void rotate(std::function<int(int heads)> rotation) { m_rotation = std::move(rotation); }

    /// Applied to the scores [B, heads, T, T] of every attention from now on.
    void changeScores(std::function<int(int scores)> change) { m_scores = std::move(change); }

    int attention(int x);
    int attend(int q, int k, int v);  ///< of queries, keys and values [B, T, D]
    int mlp(int x);
    int swiGlu(int x);  ///< without biases
    /// In any of kRmsSpellings ways.
    int rmsNorm(int x, int spelling = 0);
    static constexpr int kRmsSpellings = 6;

private:
    static models::Tensor random(const models::Shape& shape, float scale, cv::RNG& rng);
    int rootMeanSquare(int x, const char* op);
    int heads(int x, const models::List<int64_t>& order);

    models::GraphBuilder m_builder{17};
    cv::RNG m_rng{7};
    cv::RNG m_featureRng{8};  // features leave the weights of the blocks as they are
    int m_batch;
    int m_image;
    int m_tokens;
    bool m_open;
    std::function<int(int)> m_rotation, m_scores;
};

}  // namespace mpm::test
