// Builds a small vision transformer from the operators of an export, block by block.
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

    /// `grid` has columns x rows of patches. If `grid` is empty, the size of the image is dynamic. If `open`,
    /// no shape has a constant number of tokens.
    explicit SmallExport(int batch, cv::Size grid = {kColumns, kRows}, bool open = false);

    models::GraphBuilder& builder() { return m_builder; }
    const models::Graph& graph() const { return m_builder.graph(); }
    static cv::Mat image(int batch, cv::Size grid = {kColumns, kRows});

    int embed();                                 ///< a class token and the patches of the image
    int block(int x);                            ///< attention and MLP
    int features();                              ///< features of every token from the image: [B, 1 + N, D]
    int queries(int count);                      ///< constant tokens, repeated for every image
    int joined(const models::List<int>& parts);  ///< joins along the axis of tokens
    int reversed(int x);                         ///< the tokens in reverse order
    int withoutFirst(int x);                     ///< all tokens except the first
    int rows(int x, int64_t first, int64_t end);
    void finish(int x);  ///< adds a norm and the output

    int norm(int x);
    int linear(int x, int from, int to);
    models::Tensor random(const models::Shape& shape, float scale) { return random(shape, scale, m_rng); }
    int tokens() const { return m_tokens; }

    /// Sets a rotation for queries and keys [B, heads, T, head size] of all attentions that are built later.
    void rotate(std::function<int(int heads)> rotation) { m_rotation = std::move(rotation); }

    /// Sets a change of the scores [B, heads, T, T] of all attentions that are built later.
    void changeScores(std::function<int(int scores)> change) { m_scores = std::move(change); }

    int attention(int x);
    int attend(int q, int k, int v);  ///< attention of queries, keys and values [B, T, D]
    int mlp(int x);
    int swiGlu(int x);  ///< without biases
    /// An RMSNorm, written in one of kRmsSpellings ways.
    int rmsNorm(int x, int spelling = 0);
    static constexpr int kRmsSpellings = 6;

private:
    static models::Tensor random(const models::Shape& shape, float scale, cv::RNG& rng);
    int rootMeanSquare(int x, const char* op);
    int heads(int x, const models::List<int64_t>& order);

    models::GraphBuilder m_builder{17};
    cv::RNG m_rng{7};
    cv::RNG m_featureRng{8};  // separate, so that features() does not change the weights of blocks
    int m_batch;
    int m_image;
    int m_tokens;
    bool m_open;
    std::function<int(int)> m_rotation, m_scores;
};

}  // namespace mpm::test
