#include "mpm_layer/cpu/batch.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/loops.hpp"

namespace mpm::cpu {

Batch::Batch(const SessionInput& input, int special, int trailing)
    : m_special(special),
      m_trailing(trailing),
      m_dim(input.tokens.size[2]),
      m_inputTokens(input.tokens.size[1] - special - trailing),
      m_rows(checkedProduct<int>(input.tokens.size[0], input.tokens.size[1])),
      m_images(input.tokens.size[0]) {
    m_rowData.sizes.assign(m_rows, 1.0f);
    m_rowData.positions.assign(m_rows, -1);
    const int rowsPerImage = input.tokens.size[1];
    for (int i = 0; i < images(); ++i) {
        m_images[i].first = i * rowsPerImage;
        m_images[i].tokens = m_inputTokens;
        m_images[i].composed = identityMap(m_inputTokens);
        for (int t = 0; t < m_inputTokens; ++t)
            m_rowData.positions[i * rowsPerImage + special + t] = t;
    }
    copyTokens(input.tokens);
    spreadKeyBias(input.keyBias);
}

Batch::Batch(const SessionInput& input, int special, int trailing,
             const std::vector<const std::vector<int>*>& chosen)
    : m_special(special),
      m_trailing(trailing),
      m_dim(input.tokens.size[2]),
      m_inputTokens(input.tokens.size[1] - special - trailing),
      m_rows(0),
      m_images(input.tokens.size[0]) {
    for (int i = 0; i < images(); ++i) {
        m_images[i].first = m_rows;
        m_images[i].tokens = checkedCast<int>(chosen[i]->size());
        m_rows = checkedSum<int>(m_rows, special, m_images[i].tokens, trailing);
    }
    m_rowData.sizes.assign(m_rows, 1.0f);
    m_rowData.positions.assign(m_rows, -1);
    copyChosen(input, chosen);
}

void Batch::copyChosen(const SessionInput& input, const std::vector<const std::vector<int>*>& chosen) {
    m_data.reserve(static_cast<size_t>(m_rows) * m_dim);
    for (int i = 0; i < images(); ++i) {
        const float* from = input.tokens.ptr<float>() + static_cast<size_t>(i) * input.tokens.size[1] * m_dim;
        std::copy_n(from, static_cast<size_t>(m_special) * m_dim, row(m_images[i].first));
        for (int t = 0; t < m_images[i].tokens; ++t) {
            const int token = (*chosen[i])[t], to = m_images[i].first + m_special + t;
            m_rowData.positions[to] = token;
            std::copy_n(from + static_cast<size_t>(m_special + token) * m_dim, m_dim, row(to));
        }
        std::copy_n(from + static_cast<size_t>(m_special + m_inputTokens) * m_dim,
                    static_cast<size_t>(m_trailing) * m_dim,
                    row(m_images[i].first + m_special + m_images[i].tokens));
    }
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
    m_rowData.keyBias.resize(m_rows);
    for (int r = 0; r < m_rows; ++r)
        m_rowData.keyBias[r] = values[r % whole.total()];
    m_givenKeyBias = m_rowData.keyBias;
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
                     cv::format("mpm: a map of %d tokens before block %d does not fit image %d, which has %d",
                                maps[i].tokens(), block, i, m_images[i].tokens));
        }
        first[i] = rows;
        rows += m_special + maps[i].clusters + m_trailing;
    }
    Rows merged;
    merged.sizes.assign(rows, 1.0f);
    merged.positions.assign(rows, -1);
    if (hasKeyBias()) merged.keyBias.resize(rows);
    m_spare.reserve(static_cast<size_t>(rows) * m_dim);
    for (int i = 0; i < images(); ++i) {
        const Clusters clusters(maps[i]);
        mergeRows(i, clusters, weighted, first[i]);
        mergeRowData(i, clusters, first[i], merged);
        Image& image = m_images[i];
        image.first = first[i];
        image.tokens = maps[i].clusters;
        image.composed = compose(image.composed, maps[i]);
        if (hasKeyBias()) meanKeyBias(image, i, merged);
        image.report.stages.push_back({block, toMat(maps[i]), maps[i].clusters});
    }
    std::swap(m_data, m_spare);
    m_rowData = std::move(merged);
    m_rows = rows;
}

void Batch::mergeRows(int image, const Clusters& clusters, bool weighted, int first) {
    constexpr int kGrain = 32;
    const Image& from = m_images[image];
    float* out = m_spare.data() + static_cast<size_t>(first) * m_dim;
    std::copy_n(row(from.first), static_cast<size_t>(m_special) * m_dim, out);
    out += static_cast<size_t>(m_special) * m_dim;
    std::copy_n(row(from.first + m_special + from.tokens), static_cast<size_t>(m_trailing) * m_dim,
                out + static_cast<size_t>(clusters.count()) * m_dim);
    const float* sizes = weighted ? m_rowData.sizes.data() + from.first + m_special : nullptr;
    parallelFor((clusters.count() + kGrain - 1) / kGrain, [&](int part) {
        const cv::Range range(part * kGrain, std::min((part + 1) * kGrain, clusters.count()));
        averageRows(tokens(image), clusters, range, sizes, out, m_dim);
    });
}

void Batch::mergeRowData(int image, const Clusters& clusters, int first, Rows& merged) const {
    const int special = m_images[image].first + m_special;
    for (int c = 0; c < clusters.count(); ++c) {
        const int* members = clusters.members(c);
        const int to = first + m_special + c;
        // Rows need not be in the order of their representatives: the lowest of all is the new
        // representative.
        float size = 0;
        int position = m_rowData.positions[special + members[0]];
        for (int m = 0; m < clusters.size(c); ++m) {
            size += m_rowData.sizes[special + members[m]];
            position = std::min(position, m_rowData.positions[special + members[m]]);
        }
        merged.sizes[to] = size;
        merged.positions[to] = position;
    }
}

// The mean over all image tokens that a row represents, not stage by stage: an input map has no stages.
void Batch::meanKeyBias(const Image& image, int number, Rows& merged) const {
    const size_t rowsPerImage = static_cast<size_t>(m_special) + m_inputTokens + m_trailing;
    const float* given = m_givenKeyBias.data() + number * rowsPerImage;
    float* to = merged.keyBias.data() + image.first;
    std::copy_n(given, m_special, to);
    std::copy_n(given + m_special + m_inputTokens, m_trailing, to + m_special + image.tokens);
    std::vector<double> sums(image.tokens, 0.0);
    std::vector<int> counts(image.tokens, 0);
    for (int t = 0; t < m_inputTokens; ++t) {
        sums[image.composed.ids[t]] += given[m_special + t];
        ++counts[image.composed.ids[t]];
    }
    for (int c = 0; c < image.tokens; ++c)
        to[m_special + c] = static_cast<float>(sums[c] / counts[c]);
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
