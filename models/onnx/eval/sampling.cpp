// Operators that sample feature maps: GridSample, and the mpm operators of converted mask decoders. The code
// is simple, because its results verify the layers that OpenCV runs.
#include <algorithm>
#include <cmath>

#include "models/onnx/eval/call.hpp"

namespace mpm::models {
namespace {

struct Sampling {
    bool nearest = false, border = false;
};

/// The pixels of a map, at most four, whose weighted sum is a sample.
struct Pixels {
    int64_t at[4];
    double weights[4];
    int count = 0;

    /// Returns the weighted sum of values that are `step` elements apart.
    double of(const float* values, int64_t step) const {
        double sum = 0;
        for (int k = 0; k < count; ++k)
            sum += weights[k] * values[at[k] * step];
        return sum;
    }
};

struct Map {
    int64_t rows, columns;

    Pixels around(double y, double x, const Sampling& how) const {
        Pixels pixels;
        if (how.nearest) {
            add(pixels, std::nearbyint(y), std::nearbyint(x), 1, how.border);
        } else if (std::isfinite(x) && std::isfinite(y)) {
            const double x0 = std::floor(x), y0 = std::floor(y), fx = x - x0, fy = y - y0;
            add(pixels, y0, x0, (1 - fy) * (1 - fx), how.border);
            add(pixels, y0, x0 + 1, (1 - fy) * fx, how.border);
            add(pixels, y0 + 1, x0, fy * (1 - fx), how.border);
            add(pixels, y0 + 1, x0 + 1, fy * fx, how.border);
        }
        return pixels;
    }

private:
    void add(Pixels& pixels, double y, double x, double weight, bool border) const {
        if (border) {
            x = std::min(std::max(x, 0.0), static_cast<double>(columns - 1));
            y = std::min(std::max(y, 0.0), static_cast<double>(rows - 1));
        }
        if (!(x >= 0 && x < columns && y >= 0 && y < rows)) return;
        pixels.at[pixels.count] = static_cast<int64_t>(y) * columns + static_cast<int64_t>(x);
        pixels.weights[pixels.count++] = weight;
    }
};

double place(double share, int64_t size, bool corners) {
    return corners ? (share + 1) / 2 * static_cast<double>(size - 1)
                   : ((share + 1) * static_cast<double>(size) - 1) / 2;
}

void gridSample(Call& c) {
    const Tensor map = c.input(0), grid = c.input(1);
    if (map.rank() != 4 || grid.rank() != 4 || grid.dim(3) != 2 || grid.dim(0) != map.dim(0))
        throw Refusal("its grid does not fit; only maps of two axes are supported");
    const std::string mode = c.node.getString("mode", "bilinear"),
                      padding = c.node.getString("padding_mode", "zeros");
    const Sampling how{mode == "nearest", padding == "border"};
    if (!how.nearest && mode != "bilinear" && mode != "linear")
        throw Refusal("mode " + mode + " is not supported");
    if (!how.border && padding != "zeros") throw Refusal("padding " + padding + " is not supported");
    const bool corners = c.node.getInt("align_corners", 0) != 0;
    const Shape shape{map.dim(0), map.dim(1), grid.dim(1), grid.dim(2)};
    if (!c.known()) return c.shape(0, Type::Float, shape);
    Tensor& y = c.make(0, Type::Float, shape);
    const int64_t points = extentOf(shape, 2, 4), plane = extentOf(map.shape(), 2, 4);
    if (y.size() == 0 || plane == 0) return;
    const Map from{map.dim(2), map.dim(3)};
    parallel(shape[0] * points, 1 << 7, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            const int64_t first = k / points * shape[1];  // the image's first channel
            const float* at = grid.f() + 2 * k;
            const Pixels pixels =
                from.around(place(at[1], from.rows, corners), place(at[0], from.columns, corners), how);
            for (int64_t channel = first; channel < first + shape[1]; ++channel)
                y.writeF()[channel * points + k % points] =
                    static_cast<float>(pixels.of(map.f() + channel * plane, 1));
        }
    });
}

void softmaxInto(const float* from, int64_t count, List<double>& to) {
    const double largest = *std::max_element(from, from + count);
    double sum = 0;
    for (int64_t k = 0; k < count; ++k)
        sum += to[k] = std::exp(from[k] - largest);
    for (double& value : to)
        value /= sum;
}

class Deformable {
public:
    explicit Deformable(Call& c)
        : m_value(c.input(0)),
          m_offsets(c.input(1)),
          m_logits(c.input(2)),
          m_reference(c.input(3)),
          m_heads(c.node.getInt("heads", 0)),
          m_points(c.node.getInt("points", 0)),
          m_sizes(c.node.getInts("levels")) {
        const int64_t levels = static_cast<int64_t>(m_sizes.size() / 2);
        const bool fits = m_value.rank() == 3 && m_offsets.rank() == 3 && m_logits.rank() == 3 &&
                          m_reference.rank() == 4 && m_heads > 0 && m_points > 0 && levels > 0 &&
                          m_value.dim(2) % m_heads == 0;
        if (!fits) throw Refusal("its inputs do not fit");
        m_samples = checkedProduct<int64_t>(levels, m_points);
        m_width = m_value.dim(2) / m_heads;
        int64_t positions = 0;
        for (size_t k = 0; k + 1 < m_sizes.size(); k += 2)
            positions = checkedSum<int64_t>(positions, elementCount({m_sizes[k], m_sizes[k + 1]}));
        const Shape logits{m_value.dim(0), m_logits.dim(1), checkedProduct<int64_t>(m_heads, m_samples)};
        const bool agree = m_value.dim(1) == positions && m_logits.shape() == logits &&
                           m_offsets.shape() == Shape{logits[0], logits[1], 2 * logits[2]} &&
                           m_reference.dim(1) == logits[1] && m_reference.dim(3) == 2 &&
                           (m_reference.dim(0) == 1 || m_reference.dim(0) == logits[0]) &&
                           (m_reference.dim(2) == 1 || m_reference.dim(2) == levels);
        if (!agree) throw Refusal("its inputs do not fit");
    }

    Shape shape() const { return {m_value.dim(0), m_logits.dim(1), m_value.dim(2)}; }

    void run(int64_t image, int64_t query, int64_t head, float* to) const {
        const int64_t queries = m_logits.dim(1),
                      sample = ((image * queries + query) * m_heads + head) * m_samples;
        List<double> weights(m_samples), sums(m_width, 0.0);
        softmaxInto(m_logits.f() + sample, m_samples, weights);
        const int64_t referenceLevels = m_reference.dim(2);
        const float* reference =
            m_reference.f() + 2 * ((m_reference.dim(0) == 1 ? 0 : image) * queries + query) * referenceLevels;
        const float* values = m_value.f() + image * m_value.dim(1) * m_value.dim(2) + head * m_width;
        for (int64_t k = 0; k < m_samples; ++k) {
            const int64_t level = k / m_points;
            const Map map{m_sizes[2 * level], m_sizes[2 * level + 1]};
            const float* at = reference + (referenceLevels == 1 ? 0 : 2 * level);
            const float* offset = m_offsets.f() + 2 * (sample + k);
            const double x = static_cast<double>(at[0]) * static_cast<double>(map.columns) + offset[0] - 0.5;
            const double y = static_cast<double>(at[1]) * static_cast<double>(map.rows) + offset[1] - 0.5;
            const Pixels pixels = map.around(y, x, {});
            for (int64_t d = 0; d < m_width; ++d)
                sums[d] += weights[k] * pixels.of(values + d, m_value.dim(2));
            // fits: the value has a row for each position of the levels
            if (k % m_points == m_points - 1) values += map.rows * map.columns * m_value.dim(2);
        }
        std::copy(sums.begin(), sums.end(), to);
    }

    int64_t heads() const { return m_heads; }
    int64_t width() const { return m_width; }

private:
    const Tensor m_value, m_offsets, m_logits, m_reference;
    const int64_t m_heads, m_points;
    const List<int64_t> m_sizes;
    int64_t m_samples = 0, m_width = 0;
};

void deformable(Call& c) {
    const Deformable run(c);
    const Shape shape = run.shape();
    if (!c.known()) return c.shape(0, Type::Float, shape);
    Tensor& y = c.make(0, Type::Float, shape);
    const int64_t heads = run.heads(), queries = shape[1];
    parallel(elementCount({shape[0], queries, heads}), 64, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
            run.run(k / heads / queries, k / heads % queries, k % heads, y.writeF() + k * run.width());
    });
}

// Computes mmdeploy's operator: `places` are shares of a level's size, and `weights` come from a softmax.
void sampledAttention(Call& c) {
    const Tensor value = c.input(0), sizes = c.input(1), places = c.input(3), weights = c.input(4);
    const bool fits = value.rank() == 4 && places.rank() == 6 && places.dim(5) == 2 && sizes.known() &&
                      sizes.size() == checkedProduct<int64_t>(2, places.dim(3)) &&
                      places.dim(0) == value.dim(0) && places.dim(2) == value.dim(2) &&
                      weights.shape() == Shape(places.shape().begin(), places.shape().end() - 1);
    int64_t positions = 0;
    for (int64_t k = 0; fits && k < places.dim(3); ++k)
        positions = checkedSum<int64_t>(positions, elementCount({sizes.i()[2 * k], sizes.i()[2 * k + 1]}));
    if (!fits || positions != value.dim(1)) throw Refusal("its inputs do not fit");
    const int64_t heads = value.dim(2), width = value.dim(3), queries = places.dim(1), points = places.dim(4);
    const Shape shape{value.dim(0), queries, checkedProduct<int64_t>(heads, width)};
    if (!c.known()) return c.shape(0, Type::Float, shape);
    Tensor& y = c.make(0, Type::Float, shape);
    parallel(y.size(), 256, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            const int64_t row = k / width, image = row / heads / queries;
            const float* values = value.f() + (image * positions * heads + row % heads) * width + k % width;
            double sum = 0;
            for (int64_t l = 0; l < places.dim(3); ++l) {
                const Map map{sizes.i()[2 * l], sizes.i()[2 * l + 1]};
                for (int64_t p = 0; p < points; ++p) {
                    const int64_t sample = (row * places.dim(3) + l) * points + p;
                    const float* at = places.f() + 2 * sample;
                    const Pixels pixels = map.around(place(2.0 * at[1] - 1, map.rows, false),
                                                     place(2.0 * at[0] - 1, map.columns, false), {});
                    sum += weights.f()[sample] * pixels.of(values, heads * width);
                }
                // fits: the value has a row for each position of the levels
                values += map.rows * map.columns * heads * width;
            }
            y.writeF()[k] = static_cast<float>(sum);
        }
    });
}

void checkMasks(const Tensor& scores, const Tensor& masks) {
    const bool fits = scores.rank() == 3 && masks.rank() == 3 && masks.dim(0) > 0 &&
                      scores.dim(0) % masks.dim(0) == 0 && scores.dim(1) == masks.dim(1) &&
                      scores.dim(2) == masks.dim(2) && scores.dim(2) > 0;
    if (!fits) throw Refusal("its masks do not fit");
}

void maskedSoftmax(Call& c) {
    const Tensor scores = c.input(0), masks = c.has(1) ? c.input(1) : Tensor();
    if (c.has(1)) checkMasks(scores, masks);
    if (scores.rank() < 1 || scores.shape().back() < 1) throw Refusal("it needs keys");
    if (!c.known()) return c.shape(0, Type::Float, scores.shape());
    Tensor& y = c.make(0, Type::Float, scores.shape());
    const int64_t keys = scores.dim(-1), queries = masks.known() ? scores.dim(1) : 1,
                  heads = masks.known() ? scores.dim(0) / masks.dim(0) : 1;
    parallel(y.size() / keys, 64, [&](int64_t begin, int64_t end) {
        List<double> weights(keys);
        for (int64_t row = begin; row < end; ++row) {
            List<float> kept(scores.f() + row * keys, scores.f() + (row + 1) * keys);
            if (masks.known()) {
                const float* mask = masks.f() + (row / queries / heads * queries + row % queries) * keys;
                const bool none = std::all_of(mask, mask + keys, [](float m) { return m < 0; });
                for (int64_t k = 0; k < keys; ++k)
                    if (!none && mask[k] < 0) kept[k] = -INFINITY;
            }
            softmaxInto(kept.data(), keys, weights);
            std::copy(weights.begin(), weights.end(), y.writeF() + row * keys);
        }
    });
}

}  // namespace

void addSampling(OperatorTable& table) {
    table["GridSample"] = gridSample;
    table["mpm.MpmGridSample"] = gridSample;
    table["mmdeploy.MMCVMultiScaleDeformableAttention"] = sampledAttention;
    table["mpm.MpmDeformable"] = deformable;
    table["mpm.MpmMaskedSoftmax"] = maskedSoftmax;
}

}  // namespace mpm::models
