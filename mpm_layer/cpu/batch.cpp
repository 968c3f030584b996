#include "mpm_layer/cpu/batch.hpp"

#include <algorithm>

namespace mpm::cpu {

Batch::Batch(const SessionInput& input, int special)
    : m_special(special),
      m_dim(input.tokens.size[2]),
      m_pictureTokens(input.tokens.size[1] - special),
      m_rows(input.tokens.size[0] * input.tokens.size[1]),
      m_images(input.tokens.size[0]),
      m_sizes(m_rows, 1.0f),
      m_positions(m_rows, -1) {
    const int rowsPerImage = input.tokens.size[1];
    for (int i = 0; i < images(); ++i) {
        m_images[i].first = i * rowsPerImage;
        m_images[i].tokens = m_pictureTokens;
        m_images[i].composed = identityMap(m_pictureTokens);
        for (int t = 0; t < m_pictureTokens; ++t)
            m_positions[i * rowsPerImage + special + t] = t;
    }
    copyTokens(input.tokens);
    spreadKeyBias(input.keyBias);
}

void Batch::copyTokens(const cv::Mat& tokens) {
    m_data.reserve(static_cast<size_t>(m_rows) * m_dim);
    const cv::Mat whole = tokens.isContinuous() ? tokens : tokens.clone();
    std::copy_n(whole.ptr<float>(), static_cast<size_t>(m_rows) * m_dim, m_data.data());
}

void Batch::spreadKeyBias(const cv::Mat& bias) {
    if (bias.empty()) return;
    const cv::Mat whole = bias.isContinuous() ? bias : bias.clone();
    const float* values = whole.ptr<float>();
    m_keyBias.resize(m_rows);
    for (int r = 0; r < m_rows; ++r)
        m_keyBias[r] = values[r % whole.total()];
}

RowsView Batch::tokens(int image) const {
    const Image& one = m_images[image];
    return {row(one.first + m_special), static_cast<size_t>(m_dim), one.tokens, m_dim};
}

void Batch::apply(const std::vector<MergeMap>& maps, bool weighted, int block) {
    std::vector<int> first(images());
    int rows = 0;
    for (int i = 0; i < images(); ++i) {
        if (maps[i].tokens() != m_images[i].tokens) {
            CV_Error(cv::Error::StsUnmatchedSizes,
                     cv::format("mpm: a map of %d tokens does not fit image %d, which has %d",
                                maps[i].tokens(), i, m_images[i].tokens));
        }
        first[i] = rows;
        rows += m_special + maps[i].clusters;
    }
    float* out = m_spare.reserve(static_cast<size_t>(rows) * m_dim);
    std::vector<float> sizes(rows, 1.0f), bias(hasKeyBias() ? rows : 0);
    std::vector<int> positions(rows, -1);
    for (int i = 0; i < images(); ++i) {
        const Image& image = m_images[i];
        std::copy_n(row(image.first), static_cast<size_t>(m_special) * m_dim,
                    out + static_cast<size_t>(first[i]) * m_dim);
        if (hasKeyBias()) std::copy_n(&m_keyBias[image.first], m_special, bias.begin() + first[i]);
        const Clusters clusters(maps[i]);
        const int from = image.first + m_special, to = first[i] + m_special;
        cv::parallel_for_(cv::Range(0, (clusters.count() + 63) / 64), [&](const cv::Range& range) {
            averageRows(tokens(i), clusters, {range.start * 64, std::min(range.end * 64, clusters.count())},
                        weighted ? &m_sizes[from] : nullptr, out + static_cast<size_t>(to) * m_dim, m_dim);
        });
        for (int c = 0; c < clusters.count(); ++c) {
            const int* members = clusters.members(c);
            float size = 0;
            double sum = 0;
            for (int m = 0; m < clusters.size(c); ++m) {
                size += m_sizes[from + members[m]];
                if (hasKeyBias()) sum += m_keyBias[from + members[m]];
            }
            sizes[to + c] = size;
            if (hasKeyBias()) bias[to + c] = static_cast<float>(sum / clusters.size(c));
            positions[to + c] = m_positions[from + members[0]];
        }
    }
    for (int i = 0; i < images(); ++i) {
        Image& image = m_images[i];
        image.first = first[i];
        image.tokens = maps[i].clusters;
        image.composed = compose(image.composed, maps[i]);
        image.report.stages.push_back({block, toMat(maps[i]), maps[i].clusters});
    }
    std::swap(m_data, m_spare);
    m_sizes.swap(sizes);
    m_keyBias.swap(bias);
    m_positions.swap(positions);
    m_rows = rows;
}

std::vector<ImageReport> Batch::takeReport() {
    std::vector<ImageReport> reports;
    for (Image& image : m_images) {
        image.report.map = toMat(image.composed);
        reports.push_back(std::move(image.report));
    }
    return reports;
}

}  // namespace mpm::cpu
