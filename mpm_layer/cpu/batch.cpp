#include "mpm_layer/cpu/batch.hpp"

#include <algorithm>
#include <iterator>

#include "base/checked.hpp"
#include "base/loops.hpp"

namespace mpm::cpu {

Batch::Batch(const SessionInput& input, const EncoderConfig& config, Empty)
    : m_windows(config, input.tokens.size[1] - config.specialRows() - config.trailingTokens),
      m_byRepresentative(config.numbersByRepresentative()),
      m_special(config.specialTokens),
      m_trailing(config.trailingTokens),
      m_dim(input.tokens.size[2]),
      m_inputTokens(input.tokens.size[1] - config.specialRows() - config.trailingTokens),
      m_places(checkedProduct<size_t>(input.tokens.size[0], m_windows.count())),
      m_reports(input.tokens.size[0]) {}

Batch::Batch(const SessionInput& input, const EncoderConfig& config) : Batch(input, config, Empty()) {
    for (int w = 0; w < windows(); ++w) {
        m_places[w].tokens = m_windows.tokens(windowOfImage(w));
        m_places[w].composed = identityMap(m_places[w].tokens);
    }
    place();
    for (int w = 0; w < windows(); ++w) {
        std::copy_n(m_windows.positions(windowOfImage(w)), m_places[w].tokens,
                    m_rowData.positions.begin() + m_places[w].first + m_special);
    }
    copyTokens(input.tokens);
    spreadKeyBias(input.keyBias);
}

Batch::Batch(const SessionInput& input, const EncoderConfig& config,
             const std::vector<const std::vector<int>*>& chosen)
    : Batch(input, config, Empty()) {
    std::vector<std::vector<int>> byWindow(m_places.size());
    for (int i = 0; i < images(); ++i)
        choose(i, *chosen[i], byWindow);
    for (int w = 0; w < windows(); ++w)
        m_places[w].tokens = checkedCast<int>(byWindow[w].size());
    place();
    for (int w = 0; w < windows(); ++w)
        std::copy(byWindow[w].begin(), byWindow[w].end(),
                  m_rowData.positions.begin() + m_places[w].first + m_special);
    copyChosen(input);
}

// Adds the chosen tokens of an image to the windows. The tokens of a window keep their order.
void Batch::choose(int image, const std::vector<int>& tokens, std::vector<std::vector<int>>& byWindow) const {
    std::vector<char> wanted(m_inputTokens);
    for (const int token : tokens)
        wanted[token] = 1;
    for (int w = 0; w < m_windows.count(); ++w) {
        const int* const positions = m_windows.positions(w);
        std::copy_if(positions, positions + m_windows.tokens(w),
                     std::back_inserter(byWindow[image * m_windows.count() + w]),
                     [&](int position) { return wanted[position] != 0; });
    }
}

// Places the rows of all windows one after another.
void Batch::place() {
    for (int w = 0; w < windows(); ++w) {
        m_places[w].first = m_rows;
        m_rows = checkedSum<int>(m_rows, m_special, m_places[w].tokens, m_trailing);
    }
    m_rowData.sizes.assign(m_rows, 1.0f);
    m_rowData.positions.assign(m_rows, -1);
}

// Returns the index, in the input, of a window's row. `row` is the row's index in the window before any
// merge. In the input, the special rows of all windows of an image come before its image tokens.
int Batch::inputRow(int window, int row) const {
    const int w = windowOfImage(window), count = m_windows.count(), start = window / count * inputRows(),
              token = row - m_special;
    if (token < 0) return start + w * m_special + row;
    if (token < m_windows.tokens(w)) return start + count * m_special + m_windows.positions(w)[token];
    return start + count * m_special + m_inputTokens + token - m_windows.tokens(w);
}

void Batch::copyChosen(const SessionInput& input) {
    m_data.reserve(static_cast<size_t>(m_rows) * m_dim);
    const std::vector<int> rows = chosenRows();
    for (int r = 0; r < m_rows; ++r)
        std::copy_n(input.tokens.ptr<float>() + static_cast<size_t>(rows[r]) * m_dim, m_dim, row(r));
}

std::vector<int> Batch::chosenRows() const {
    std::vector<int> rows;
    const int special = m_windows.count() * m_special;
    for (int w = 0; w < windows(); ++w) {
        const int start = w / m_windows.count() * inputRows(), first = m_places[w].first;
        for (int e = 0; e < m_special; ++e)
            rows.push_back(start + windowOfImage(w) * m_special + e);
        for (int t = 0; t < m_places[w].tokens; ++t)
            rows.push_back(start + special + position(first + m_special + t));
        for (int t = 0; t < m_trailing; ++t)
            rows.push_back(start + special + m_inputTokens + t);
    }
    return rows;
}

void Batch::copyTokens(const cv::Mat& tokens) {
    m_data.reserve(static_cast<size_t>(m_rows) * m_dim);
    const cv::Mat whole = tokens.isContinuous() ? tokens : tokens.clone();
    if (m_windows.count() == 1) {
        std::copy_n(whole.ptr<float>(), static_cast<size_t>(m_rows) * m_dim, m_data.data());
        return;
    }
    parallelFor(windows(), [&](int w) {
        for (int r = 0; r < rowsOf(w); ++r) {
            std::copy_n(whole.ptr<float>() + static_cast<size_t>(inputRow(w, r)) * m_dim, m_dim,
                        row(m_places[w].first + r));
        }
    });
}

void Batch::spreadKeyBias(const cv::Mat& bias) {
    if (bias.empty()) return;
    const cv::Mat whole = bias.isContinuous() ? bias : bias.clone();
    const float* values = whole.ptr<float>();
    m_givenKeyBias.resize(m_rows);
    for (int r = 0; r < m_rows; ++r)
        m_givenKeyBias[r] = values[r % whole.total()];
    m_rowData.keyBias.resize(m_rows);
    for (int w = 0; w < windows(); ++w)
        for (int r = 0; r < rowsOf(w); ++r)
            m_rowData.keyBias[m_places[w].first + r] = m_givenKeyBias[inputRow(w, r)];
}

RowsView Batch::tokens(int window) const {
    const Window& one = m_places[window];
    return {row(one.first + m_special), static_cast<size_t>(m_dim), one.tokens, m_dim};
}

std::vector<Span> Batch::imageSpans() const {
    std::vector<Span> spans;
    const int count = m_windows.count();
    for (int w = 0; w < windows(); w += count) {
        const int first = m_places[w].first, last = w + count - 1;
        const int rows = m_places[last].first + rowsOf(last) - first;
        spans.push_back({first, rows, first, rows});
    }
    return spans;
}

std::vector<Span> Batch::windowSpans(bool padded) const {
    std::vector<Span> spans;
    int key = 0;
    for (int w = 0; w < windows(); ++w) {
        const int rows = rowsOf(w);
        const int padding = padded ? m_windows.wholeWindow() - m_windows.tokens(windowOfImage(w)) : 0;
        spans.push_back({m_places[w].first, rows, key, checkedSum<int>(rows, padding)});
        key = checkedSum<int>(key, spans.back().keys);
    }
    return spans;
}

// Returns a number for each token row of an image, for the image's reports and merge maps. The numbers follow
// the raster order of the representatives if m_byRepresentative is true, else the order of windows.
std::vector<int> Batch::numbers(int image) const {
    const int count = m_windows.count(), start = image * count;
    std::vector<int> rowAt(m_inputTokens, -1);
    int rows = 0;
    for (int w = start; w < start + count; ++w) {
        for (int t = 0; t < m_places[w].tokens; ++t, ++rows)
            rowAt[m_byRepresentative ? position(m_places[w].first + m_special + t) : rows] = rows;
    }
    std::vector<int> numbers(rows);
    int next = 0;
    for (const int row : rowAt)
        if (row >= 0) numbers[row] = next++;
    return numbers;
}

std::vector<MergeMap> Batch::byWindow(const std::vector<MergeMap>& maps, int block) const {
    const int count = m_windows.count();
    std::vector<MergeMap> parts(windows());
    for (int i = 0; i < images(); ++i) {
        const std::vector<int> numbers = this->numbers(i);
        const MergeMap& map = maps[i];
        if (map.tokens() != static_cast<int>(numbers.size())) {
            CV_Error(cv::Error::StsUnmatchedSizes,
                     cv::format("mpm: a map of %d tokens before block %d does not fit image %d, which has %d",
                                map.tokens(), block, i, static_cast<int>(numbers.size())));
        }
        std::vector<int> owner(map.clusters, -1);
        const int* number = numbers.data();
        for (int w = i * count; w < (i + 1) * count; ++w) {
            for (int t = 0; t < m_places[w].tokens; ++t, ++number) {
                const int id = map.ids[*number];
                if (owner[id] >= 0 && owner[id] != w) {
                    CV_Error(cv::Error::StsBadArg,
                             cv::format("mpm: a map before block %d joins tokens of two windows of image %d: "
                                        "cluster %d",
                                        block, i, id));
                }
                owner[id] = w;
                parts[w].ids.push_back(id);
            }
        }
        // A window's clusters keep their order.
        std::vector<int> local(map.clusters);
        for (int id = 0; id < map.clusters; ++id)
            local[id] = parts[owner[id]].clusters++;
        for (int w = i * count; w < (i + 1) * count; ++w)
            renumber(parts[w], local);
    }
    return parts;
}

void Batch::apply(const std::vector<MergeMap>& maps, Mean mean, int block) {
    std::vector<int> first(windows());
    int rows = 0;
    for (int w = 0; w < windows(); ++w) {
        first[w] = rows;
        rows += m_special + maps[w].clusters + m_trailing;
    }
    std::vector<std::vector<int>> before;
    for (int i = 0; i < images(); ++i)
        before.push_back(numbers(i));
    Rows merged;
    merged.sizes.assign(rows, 1.0f);
    merged.positions.assign(rows, -1);
    if (hasKeyBias()) merged.keyBias.resize(rows);
    m_spare.reserve(static_cast<size_t>(rows) * m_dim);
    parallelParts(windows(), [&](int w) {
        const Clusters clusters(maps[w]);
        mergeRows(w, clusters, mean, first[w]);
        mergeRowData(w, clusters, first[w], merged);
        Window& window = m_places[w];
        window.first = first[w];
        window.tokens = maps[w].clusters;
        window.composed = compose(window.composed, maps[w]);
        if (hasKeyBias()) meanKeyBias(w, merged);
    });
    std::swap(m_data, m_spare);
    m_rowData = std::move(merged);
    m_rows = rows;
    for (int i = 0; i < images(); ++i)
        reportStage(i, maps.data() + i * m_windows.count(), before[i], block);
}

void Batch::reportStage(int image, const MergeMap* maps, const std::vector<int>& before, int block) {
    const std::vector<int> after = numbers(image);
    cv::Mat map(1, checkedCast<int>(before.size()), CV_32S);
    size_t from = 0;
    int to = 0;
    for (int w = 0; w < m_windows.count(); ++w) {
        for (const int id : maps[w].ids)
            map.at<int>(before[from++]) = after[to + id];
        to += maps[w].clusters;
    }
    m_reports[image].stages.push_back({block, map, to});
}

void Batch::mergeRows(int window, const Clusters& clusters, Mean mean, int first) {
    constexpr int kGrain = 32;
    const Window& from = m_places[window];
    float* out = m_spare.data() + static_cast<size_t>(first) * m_dim;
    std::copy_n(row(from.first), static_cast<size_t>(m_special) * m_dim, out);
    out += static_cast<size_t>(m_special) * m_dim;
    std::copy_n(row(from.first + m_special + from.tokens), static_cast<size_t>(m_trailing) * m_dim,
                out + static_cast<size_t>(clusters.count()) * m_dim);
    const float* sizes = m_rowData.sizes.data() + from.first + m_special;
    parallelFor((clusters.count() + kGrain - 1) / kGrain, [&](int part) {
        const cv::Range range(part * kGrain, std::min((part + 1) * kGrain, clusters.count()));
        averageRows(tokens(window), clusters, range, mean, sizes, out, m_dim);
    });
}

void Batch::mergeRowData(int window, const Clusters& clusters, int first, Rows& merged) const {
    const int special = m_places[window].first + m_special;
    for (int c = 0; c < clusters.count(); ++c) {
        const int* members = clusters.members(c);
        const int to = first + m_special + c;
        // The position of a cluster's representative is the lowest position of all members. The first member
        // may have a higher position, so the loop compares all members.
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

// Computes the key bias of each row: the mean over all image tokens that the row represents. Averages the
// biases of the input, not the means of earlier stages: a merge map in the input may be the result of several
// stages, and does not show these stages.
void Batch::meanKeyBias(int number, Rows& merged) const {
    const Window& window = m_places[number];
    const auto given = [&](int row) { return m_givenKeyBias[inputRow(number, row)]; };
    const int tokens = window.composed.tokens();
    float* to = merged.keyBias.data() + window.first;
    for (int e = 0; e < m_special; ++e)
        to[e] = given(e);
    to += m_special;
    for (int t = 0; t < m_trailing; ++t)
        to[window.tokens + t] = given(m_special + tokens + t);
    std::vector<double> sums(window.tokens, 0.0);
    std::vector<int> counts(window.tokens, 0);
    for (int t = 0; t < tokens; ++t) {
        sums[window.composed.ids[t]] += given(m_special + t);
        ++counts[window.composed.ids[t]];
    }
    for (int c = 0; c < window.tokens; ++c)
        to[c] = static_cast<float>(sums[c] / counts[c]);
}

std::vector<int> Batch::restored() const {
    std::vector<int> rows(checkedProduct<size_t>(images(), inputRows()));
    parallelFor(windows(), [&](int w) {
        const Window& window = m_places[w];
        const int tokens = window.composed.tokens();
        for (int r = 0; r < m_special + tokens + m_trailing; ++r) {
            int& from = rows[inputRow(w, r)];
            from = window.first + r;
            if (r >= m_special + tokens) {
                from += window.tokens - tokens;
            } else if (r >= m_special) {
                from = window.first + m_special + window.composed.ids[r - m_special];
            }
        }
    });
    return rows;
}

// Returns the map of all merges for the next segment of a chain. The next segment reads a window's rows in
// ascending order of their ids. So each window's ids are sorted, and the rows keep their order.
cv::Mat Batch::composedMap(int image) const {
    const std::vector<int> numbers = this->numbers(image);
    cv::Mat map(1, m_inputTokens, CV_32S);
    int first = 0;
    for (int w = 0; w < m_windows.count(); ++w) {
        const Window& window = m_places[image * m_windows.count() + w];
        std::vector<int> own(numbers.begin() + first, numbers.begin() + first + window.tokens);
        std::sort(own.begin(), own.end());
        for (int t = 0; t < window.composed.tokens(); ++t)
            map.at<int>(m_windows.positions(w)[t]) = own[window.composed.ids[t]];
        first += window.tokens;
    }
    return map;
}

std::vector<ImageReport> Batch::takeReport() {
    for (int i = 0; i < images(); ++i)
        m_reports[i].map = composedMap(i);
    return std::move(m_reports);
}

}  // namespace mpm::cpu
