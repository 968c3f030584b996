#include "models/onnx/fused/insert.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>

#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

using Angle = std::complex<double>;  // cosine and sine

constexpr double kTurn = 2 * CV_PI;
constexpr double kHalfRounding = 3e-4;       // error of cosines and sines in f16
constexpr int64_t kLargestReference = 1024;  // largest RopeFormula::reference that is tried

[[noreturn]] void refuseRope(const std::string& reason) {
    throw Refusal("rotary positions are baked into the export, and " + reason +
                  ": export the model at that size instead");
}

struct AxisPositions {
    double first = 0, step = 1;
    double at(int64_t index) const { return first + step * static_cast<double>(index); }
};

// A known formula of rotary angles. The angle of a pair of components (RotaryPair) is the token's position
// along the pair's axis times the pair's frequency. The formula fixes the frequency of the first pair of
// each axis. The ratio of successive frequencies is constant.
struct RopeFormula {
    enum class Kind {
        Index,      // i + offset, at every size (Perception Encoder, Llama)
        Reference,  // (i + offset) / length * reference (EVA-02)
        // 2 * (i + 0.5) / length - 1 (DINOv3), with the length of the same, the longer or the shorter axis
        Separate,
        Longer,
        Shorter
    };
    Kind kind = Kind::Index;
    int offset = 0;
    int64_t reference = 0;

    bool centred() const { return kind != Kind::Index && kind != Kind::Reference; }
    double firstFrequency() const { return centred() ? kTurn : 1; }

    AxisPositions along(const PatchGrid& grid, bool columns) const {
        const int64_t own = columns ? grid.columns : grid.rows;
        const double length = static_cast<double>(kind == Kind::Longer    ? std::max(grid.rows, grid.columns)
                                                  : kind == Kind::Shorter ? std::min(grid.rows, grid.columns)
                                                                          : own);
        if (kind == Kind::Index) return {static_cast<double>(offset), 1};
        if (centred()) return {1 / length - 1, 2 / length};
        const double step = static_cast<double>(reference) / length;
        return {offset * step, step};
    }

    std::string text() const {
        const std::string from = " counted from " + std::to_string(offset);
        switch (kind) {
            case Kind::Index:
                return "indices" + from;
            case Kind::Reference:
                return "indices" + from +
                       cv::format(", scaled to a grid of %dx%d as EVA-02's", static_cast<int>(reference),
                                  static_cast<int>(reference));
            case Kind::Separate:
                return "patch centres from -1 to 1 along each axis, as DINOv3's";
            case Kind::Longer:
                return "patch centres, normalised by the longer axis";
            case Kind::Shorter:
                return "patch centres, normalised by the shorter axis";
        }
        return {};
    }
};

// Two components that are rotated together.
struct RotaryPair {
    int64_t head = 0, first = 0, second = 0;
    bool columns = false;  // whether the angle depends on the column, not on the row
    double step = 0;       // change of the angle between neighbours, in (-pi, pi]
};

class RopeReader {
public:
    RopeReader(const Rope& rope, const PatchGrid& grid)
        : m_grid(grid),
          m_heads(rope.cos.dim(0)),
          m_size(rope.cos.dim(2)),
          m_cos(rope.cos.toFloats()),
          m_sin(rope.sin.toFloats()),
          m_halfPrecision(isHalfPrecision()) {
        const int64_t half = m_size / 2;
        for (int64_t head = 0; head < m_heads; ++head) {
            for (int64_t k = 0; k < half; ++k) {
                const int64_t first = rope.interleaved ? 2 * k : k;
                m_pairs.push_back({head, first, rope.interleaved ? first + 1 : k + half});
                measure(m_pairs.back());
            }
        }
        // Tables may rotate in the other direction, which gives the same attention. The sign of the last
        // pair's step shows the direction, because this step is less than half a turn. If the step is
        // negative, changes the sign of all steps.
        if (m_pairs.back().step >= 0) return;
        m_sign = -1;
        for (RotaryPair& pair : m_pairs)
            pair.step = -pair.step;
    }

    // Returns the known formulas that fit the first pair's step along each axis.
    List<RopeFormula> candidates() const {
        using Kind = RopeFormula::Kind;
        List<RopeFormula> all{{Kind::Separate}, {Kind::Longer}, {Kind::Shorter}};
        for (int offset : {0, 1})
            all.push_back({Kind::Index, offset});
        for (int64_t reference = 1; reference <= kLargestReference; ++reference) {
            for (int offset : {0, 1})
                all.push_back({Kind::Reference, offset, reference});
        }
        all.erase(std::remove_if(all.begin(), all.end(), [&](const RopeFormula& f) { return !starts(f); }),
                  all.end());
        return all;
    }

    // If the formula gives the table, returns the frequency of every pair.
    std::optional<List<double>> fit(const RopeFormula& formula) const {
        List<double> measured(m_pairs.size(), 0.), round(m_pairs.size(), 0.);
        for (int64_t head = 0; head < m_heads; ++head) {
            for (bool columns : {false, true}) {
                if (!fitAxis(formula, axis(head, columns), measured, round)) return std::nullopt;
            }
        }
        // First tries frequencies computed from a base that has a single significant digit, because such
        // frequencies are free of the table's rounding errors.
        if (gives(formula, round)) return round;
        if (gives(formula, measured)) return measured;
        return std::nullopt;
    }

    Rope written(const RopeFormula& formula, const List<double>& frequencies, const PatchGrid& grid,
                 bool interleaved) const {
        Rope rope{Tensor::floats({m_heads, grid.count(), m_size}),
                  Tensor::floats({m_heads, grid.count(), m_size}), interleaved};
        const Elements<float> cos = rope.cos.writeF(), sin = rope.sin.writeF();
        for (size_t p = 0; p < m_pairs.size(); ++p) {
            const RotaryPair& pair = m_pairs[p];
            const List<Angle> angles = anglesAlong(formula, frequencies[p], grid, pair.columns);
            for (int64_t token = 0; token < grid.count(); ++token) {
                const Angle& angle = angles[pair.columns ? token % grid.columns : token / grid.columns];
                const int64_t row = (pair.head * grid.count() + token) * m_size;
                for (int64_t component : {pair.first, pair.second}) {
                    cos[row + component] = static_cast<float>(angle.real());
                    sin[row + component] = static_cast<float>(m_sign * angle.imag());
                }
            }
        }
        return rope;
    }

private:
    // Returns whether the values were rounded to f16, which has 11 significant bits. Allows small errors,
    // because the converter may have divided the rounded values.
    bool isHalfPrecision() const {
        const auto rounded = [](float value) {
            if (value == 0) return true;
            const double unit = std::ldexp(1., std::max(std::ilogb(value), -14) - 10);
            return std::abs(value / unit - std::round(value / unit)) * unit <= 2.5e-7 * std::abs(value);
        };
        return std::all_of(m_cos.begin(), m_cos.end(), rounded) &&
               std::all_of(m_sin.begin(), m_sin.end(), rounded);
    }

    Angle at(int64_t head, int64_t token, int64_t component) const {
        const int64_t k = (head * m_grid.count() + token) * m_size + component;
        return {m_cos[k], m_sign * m_sin[k]};
    }
    int64_t tokenAt(bool columns, int64_t index) const { return columns ? index : index * m_grid.columns; }
    int64_t length(bool columns) const { return columns ? m_grid.columns : m_grid.rows; }

    // Finds the axis along which the pair's angle changes more, and the mean step there. If the angle changes
    // along both axes, no formula gives the table.
    void measure(RotaryPair& pair) const {
        double change[2] = {0, 0};
        for (bool columns : {false, true}) {
            for (int64_t k = 1; k < length(columns); ++k)
                change[columns] =
                    std::max(change[columns], std::abs(at(pair.head, tokenAt(columns, k), pair.first) -
                                                       at(pair.head, tokenAt(columns, k - 1), pair.first)));
        }
        pair.columns = change[1] > change[0];
        Angle sum = 0;
        for (int64_t k = 1; k < length(pair.columns); ++k)
            sum += at(pair.head, tokenAt(pair.columns, k), pair.first) *
                   std::conj(at(pair.head, tokenAt(pair.columns, k - 1), pair.first));
        pair.step = std::arg(sum);
    }

    List<size_t> axis(int64_t head, bool columns) const {
        List<size_t> pairs;
        for (size_t p = 0; p < m_pairs.size(); ++p)
            if (m_pairs[p].head == head && m_pairs[p].columns == columns) pairs.push_back(p);
        return pairs;
    }

    // Returns whether the first pair of each axis has the formula's step, plus or minus whole turns.
    bool starts(const RopeFormula& formula) const {
        for (bool columns : {false, true}) {
            const List<size_t> pairs = axis(0, columns);
            if (pairs.empty() || length(columns) < 2) return false;
            const double step = formula.firstFrequency() * formula.along(m_grid, columns).step;
            if (std::abs(std::remainder(step - m_pairs[pairs[0]].step, kTurn)) > 2e-3) return false;
        }
        return true;
    }

    // Finds the frequencies of an axis, or returns false if the steps do not fit. The formula gives the
    // first frequency. The last pair's step is below half a turn and gives the last frequency. The first and
    // the last frequency give the ratio of successive frequencies, with a small error if the base was
    // rounded to bf16. Measured steps lack whole turns; the ratio gives the number of turns.
    bool fitAxis(const RopeFormula& formula, const List<size_t>& pairs, List<double>& measured,
                 List<double>& round) const {
        if (pairs.empty()) return false;
        const AxisPositions positions = formula.along(m_grid, m_pairs[pairs[0]].columns);
        const double first = formula.firstFrequency(), count = static_cast<double>(pairs.size());
        const double spans = std::max(count - 1, 1.);
        double last = first;
        if (pairs.size() > 1) {
            const RotaryPair& lowest = m_pairs[pairs.back()];
            last = refined(lowest, positions, lowest.step / positions.step);
            if (!(last > 0 && last < first)) return false;
        }
        // Rounds the base of the frequencies, base^(-k / pairs), to a single significant digit.
        const double base = std::pow(first / last, count / spans);
        const double digit = std::pow(10, std::floor(std::log10(base)));
        const double roundBase = std::round(base / digit) * digit;
        for (size_t k = 0; k < pairs.size(); ++k) {
            const double expected = first * std::pow(last / first, static_cast<double>(k) / spans);
            const RotaryPair& pair = m_pairs[pairs[k]];
            const double turns = std::round((expected * positions.step - pair.step) / kTurn);
            const double crude = (pair.step + turns * kTurn) / positions.step;
            if (std::abs(crude / expected - 1) > 0.01) return false;
            measured[pairs[k]] = k == 0 ? first : refined(pair, positions, crude);
            round[pairs[k]] = first * std::pow(roundBase, -static_cast<double>(k) / count);
        }
        return true;
    }

    // Refines an almost correct frequency by least squares over the whole axis.
    double refined(const RotaryPair& pair, const AxisPositions& positions, double crude) const {
        double error = 0, weight = 0;
        for (int64_t k = 0; k < length(pair.columns); ++k) {
            const double p = positions.at(k);
            const Angle found = at(pair.head, tokenAt(pair.columns, k), pair.first);
            error += p * std::arg(found * std::polar(1., -crude * p));
            weight += p * p;
        }
        return weight > 0 ? crude + error / weight : crude;
    }

    static List<Angle> anglesAlong(const RopeFormula& formula, double frequency, const PatchGrid& grid,
                                   bool columns) {
        const AxisPositions positions = formula.along(grid, columns);
        List<Angle> angles;
        for (int64_t k = 0; k < (columns ? grid.columns : grid.rows); ++k)
            angles.push_back(std::polar(1., frequency * positions.at(k)));
        return angles;
    }

    // Exporters compute angles in f32, so errors grow with the angle.
    double tolerance(const RopeFormula& formula) const {
        if (m_halfPrecision) return kHalfRounding;
        double largest = 0;
        for (bool columns : {false, true}) {
            const AxisPositions positions = formula.along(m_grid, columns);
            largest = std::max(largest, std::abs(positions.at(length(columns) - 1)));
        }
        return std::max(1e-5, 3e-7 * largest * formula.firstFrequency());
    }

    bool gives(const RopeFormula& formula, const List<double>& frequencies) const {
        const double most = tolerance(formula);
        for (size_t p = 0; p < m_pairs.size(); ++p) {
            checkTime();
            const RotaryPair& pair = m_pairs[p];
            const List<Angle> angles = anglesAlong(formula, frequencies[p], m_grid, pair.columns);
            for (int64_t token = 0; token < m_grid.count(); ++token) {
                const Angle& angle = angles[pair.columns ? token % m_grid.columns : token / m_grid.columns];
                for (int64_t component : {pair.first, pair.second}) {
                    const Angle error = at(pair.head, token, component) - angle;
                    if (!(std::abs(error.real()) <= most && std::abs(error.imag()) <= most)) return false;
                }
            }
        }
        return true;
    }

    const PatchGrid m_grid;
    const int64_t m_heads, m_size;
    const List<float> m_cos, m_sin;
    const bool m_halfPrecision;
    double m_sign = 1;
    List<RotaryPair> m_pairs;
};

bool sameAngles(const Rope& a, const Rope& b) {
    for (int64_t k = 0; k < a.cos.size(); ++k) {
        if (std::abs(a.cos.f()[k] - b.cos.f()[k]) > 1e-5 || std::abs(a.sin.f()[k] - b.sin.f()[k]) > 1e-5)
            return false;
    }
    return true;
}

// Computes the rows of image tokens for the grid `to`. Returns nothing if no known formula gives `rope`.
std::optional<ResizedRope> resizedImage(const Rope& rope, const PatchGrid& from, const PatchGrid& to) {
    const RopeReader reader(rope, from);
    std::optional<RopeFormula> chosen;
    ResizedRope result;
    for (const RopeFormula& formula : reader.candidates()) {
        const std::optional<List<double>> frequencies = reader.fit(formula);
        if (!frequencies) continue;
        const Rope written = reader.written(formula, *frequencies, to, rope.interleaved);
        if (!chosen) {
            chosen = formula;
            result.rope = written;
        } else if (!sameAngles(result.rope, written)) {
            // On a square grid, formulas that normalise patch centres by different axes give the same table.
            if (!chosen->centred() || !formula.centred()) {
                refuseRope("at its size two formulas give the same tables (" + chosen->text() + "; " +
                           formula.text() + ")");
            }
            result.note =
                "rotary positions are computed for " + chosen->text() +
                "; the export's square grid does not show if one axis normalises both: if so, export the "
                "model at that size instead";
        }
    }
    if (!chosen) return std::nullopt;
    return result;
}

// Copies `count` rows of each head from row `first` on; adds `front` rows of `edge` before and `back` behind.
Tensor rowsOf(const Tensor& table, int64_t first, int64_t count, int64_t front, int64_t back, float edge) {
    const int64_t size = table.dim(2), rows = front + count + back;
    Tensor result = Tensor::floats({table.dim(0), rows, size}, edge);
    for (int64_t head = 0; head < table.dim(0); ++head)
        std::copy_n(table.f() + (head * table.dim(1) + first) * size, count * size,
                    result.writeF() + (head * rows + front) * size);
    return result;
}

}  // namespace

ResizedRope resizedRope(const Rope& rope, const PatchGrid& from, const PatchGrid& to) {
    const int64_t rows = rope.cos.rank() == 3 ? rope.cos.dim(1) : 0, count = from.count();
    if (rows < count || rope.cos.shape() != rope.sin.shape())
        refuseRope(cv::format("its tables have %d rows for %d patches", static_cast<int>(rows),
                              static_cast<int>(count)));
    if (rope.cos.dim(2) < 2 || rope.cos.dim(2) % 2) refuseRope("a head has an odd number of components");
    if (from.rows < 2 || from.columns < 2)
        refuseRope("a grid of one row or column does not show their formula");
    // Rows of special tokens, with angle 0, may be in front of and behind the rows of image tokens. Tries all
    // possible numbers of rows in front.
    int64_t lead = 0, trail = 0;
    while (lead < rows - count && !rope.turns(lead))
        ++lead;
    while (trail < rows - count && !rope.turns(rows - 1 - trail))
        ++trail;
    for (int64_t front = rows - count - trail; front <= lead; ++front) {
        const int64_t back = rows - count - front;
        const auto cut = [&](const Tensor& table) { return rowsOf(table, front, count, 0, 0, 0); };
        auto resized = resizedImage({cut(rope.cos), cut(rope.sin), rope.interleaved}, from, to);
        if (!resized) continue;
        Rope& image = resized->rope;
        image.cos = rowsOf(image.cos, 0, to.count(), front, back, 1);
        image.sin = rowsOf(image.sin, 0, to.count(), front, back, 0);
        return *resized;
    }
    refuseRope("its tables follow no known formula");
}

}  // namespace mpm::models
