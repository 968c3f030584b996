#include "mpm_layer/merge/mutual_pairs.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "mpm_layer/kernels/nearest.hpp"
#include "mpm_layer/kernels/product.hpp"
#include "mpm_layer/kernels/rows.hpp"

namespace mpm {
namespace {

// Rows of one task: enough to read each panel from the cache several times, few enough to share a triangle
// out.
int chunkRows() {
    return kernels::rowGroup() * 4;
}

// The finite rows of one image as unit vectors, in both forms the triangle needs.
class Similarity {
public:
    explicit Similarity(const RowsView& image)
        : m_image(image), m_stride(kernels::paddedStride(image.width)) {
        m_unit.reserve(kernels::paddedSize(image.count, m_stride));
        std::vector<char> finite(image.count);
        cv::parallel_for_(cv::Range(0, image.count), [&](const cv::Range& range) {
            for (int i = range.start; i < range.end; ++i) {
                finite[i] = kernels::unitRow(image.row(i), image.width, m_unit.data() + i * m_stride);
            }
        });
        for (int i = 0; i < image.count; ++i) {
            if (finite[i]) m_original.push_back(i);
        }
        closeGaps();
        pack();
    }

    int count() const { return static_cast<int>(m_original.size()); }
    int chunks() const { return (count() + chunkRows() - 1) / chunkRows(); }

    void run(int chunk, kernels::Best& best) const {
        const int first = chunk * chunkRows();
        const kernels::SimilarityOperands operands{m_unit.data(), m_stride, m_panels.data(), count(),
                                                   m_image.width};
        kernels::nearestChunk(operands, first, std::min(chunkRows(), count() - first), best);
    }

    std::vector<int> answer(const kernels::Best& best) const {
        std::vector<int> nearest(m_image.count, -1);
        if (count() < 2) return nearest;
        for (int i = 0; i < count(); ++i)
            nearest[m_original[i]] = m_original[best.index[i]];
        return nearest;
    }

private:
    // Tokens that pair with none take no part: dropping them keeps the order, and so the tie rule.
    void closeGaps() {
        for (int i = 0; i < count(); ++i) {
            if (m_original[i] == i) continue;
            const float* from = m_unit.data() + m_original[i] * m_stride;
            std::copy_n(from, m_image.width, m_unit.data() + i * m_stride);
        }
    }

    void pack() {
        const size_t size = kernels::panelsSize(count(), m_image.width);
        float* panels = m_panels.reserve(size);
        const int columns = kernels::panelColumns();
        const int whole = count() / columns * columns;
        std::fill(panels + static_cast<size_t>(whole) * m_image.width, panels + size, 0.0f);
        cv::parallel_for_(cv::Range(0, count()), [&](const cv::Range& range) {
            for (int i = range.start; i < range.end; ++i) {
                kernels::packColumn(m_unit.data() + i * m_stride, m_image.width, i, panels);
            }
        });
    }

    RowsView m_image;
    size_t m_stride;
    kernels::Buffer m_unit, m_panels;
    std::vector<int> m_original;
};

}  // namespace

std::vector<std::vector<int>> nearestNeighbours(const std::vector<RowsView>& images) {
    struct Task {
        size_t image;
        int chunk;
    };
    std::vector<Similarity> similarities;
    similarities.reserve(images.size());
    std::vector<kernels::Best> bests;
    std::vector<Task> tasks;
    for (size_t i = 0; i < images.size(); ++i) {
        similarities.emplace_back(images[i]);
        bests.emplace_back(similarities[i].count());
        for (int c = 0; c < similarities[i].chunks(); ++c)
            tasks.push_back({i, c});
    }
    std::vector<std::mutex> guards(images.size());
    const int count = static_cast<int>(tasks.size());
    cv::parallel_for_(
        cv::Range(0, count),
        [&](const cv::Range& range) {
            for (int t = range.start; t < range.end; ++t) {
                const Task& task = tasks[t];
                kernels::Best own(similarities[task.image].count());
                similarities[task.image].run(task.chunk, own);
                const std::lock_guard<std::mutex> lock(guards[task.image]);
                bests[task.image].merge(own);
            }
        },
        count);
    std::vector<std::vector<int>> nearest;
    for (size_t i = 0; i < images.size(); ++i)
        nearest.push_back(similarities[i].answer(bests[i]));
    return nearest;
}

MergeMap pairUp(const std::vector<int>& nearest) {
    MergeMap map;
    map.ids.resize(nearest.size());
    for (int i = 0; i < map.tokens(); ++i) {
        const int partner = nearest[i];
        const bool absorbed = partner >= 0 && partner < i && nearest[partner] == i;
        map.ids[i] = absorbed ? map.ids[partner] : map.clusters++;
    }
    return map;
}

}  // namespace mpm
