#include "models/onnx/match/match_rows.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

// The rows of a window: special tokens, then image tokens in the window's raster order; -1 is padding.
struct Window {
    List<int32_t> special;
    List<int32_t> tokens;
};

class WindowFinder {
public:
    WindowFinder(const RowMatcher& rows, EncoderSpec& encoder)
        : m_rows(rows), m_encoder(encoder), m_images(rows.shapeOf(rows.graph().inputs[0].value)[0]) {}

    void run() {
        const Block* windowed = nullptr;
        for (const Block& block : m_encoder.blocks)
            if (static_cast<int64_t>(block.windows.size()) > m_images && !windowed) windowed = &block;
        if (!windowed) throw Mismatch{"attention reads the tokens in another order than its MLP"};
        m_embedding = embeddingOf(m_rows, m_encoder);
        if (static_cast<int64_t>(m_embedding.image.size()) != windowed->rows) fail("do not cover the tokens");
        m_windows = windowed->windows;
        findShape();
        placeRows();
        for (size_t k = 0; k < m_encoder.blocks.size(); ++k) {
            checkTime();
            takeBlock(static_cast<int>(k), m_encoder.blocks[k]);
        }
        fillTable();
        describe();
    }

private:
    [[noreturn]] static void fail(const std::string& what) {
        throw Mismatch{"its windows " + what +
                       "; windows that are equal rectangles of the image's tokens work"};
    }

    int64_t tokensOfImage() const { return elementCount({m_embedding.gridRows, m_embedding.gridColumns}); }
    int64_t windowsOfImage() const { return static_cast<int64_t>(m_windows.size()) / m_images; }
    int64_t rowsOfImage() const {
        return checkedSum<int64_t>(tokensOfImage(), checkedProduct<int64_t>(windowsOfImage(), m_special));
    }

    static bool isPadded(const List<int32_t>& window) {
        return std::find(window.begin(), window.end(), -1) != window.end();
    }

    // Returns a window's rows of image tokens and padding. If there is no padding, sorts the rows in raster
    // order, because attention may read them in any order.
    List<int32_t> tokensOf(const List<int32_t>& window) const {
        List<int32_t> tokens;
        for (const int32_t row : window)
            if (row < 0 || m_embedding.image[row] != Embedding::kSpecial) tokens.push_back(row);
        if (!isPadded(window)) {
            std::sort(tokens.begin(), tokens.end(),
                      [&](int32_t a, int32_t b) { return m_embedding.token[a] < m_embedding.token[b]; });
        }
        return tokens;
    }

    // Finds the rows and columns of the windows, and the place of each window in the grid.
    void findShape() {
        const List<int32_t> first = tokensOf(m_windows[0]);
        m_special = static_cast<int64_t>(m_windows[0].size() - first.size());
        const auto count = static_cast<int64_t>(first.size());
        for (int64_t columns = count; columns > 0; --columns) {
            if (count % columns || !fits(count / columns, columns)) continue;
            m_encoder.windows.rows = count / columns;
            m_encoder.windows.columns = columns;
            return;
        }
        fail("are no rectangles of one size");
    }

    bool fits(int64_t rows, int64_t columns) {
        const int64_t down = (m_embedding.gridRows + rows - 1) / rows,
                      across = (m_embedding.gridColumns + columns - 1) / columns;
        if (checkedProduct<int64_t>(down, across) != windowsOfImage()) return false;
        m_found.assign(m_windows.size(), {});
        List<char> taken(m_windows.size(), 0);
        for (const List<int32_t>& window : m_windows) {
            const List<int32_t> tokens = tokensOf(window);
            if (static_cast<int64_t>(tokens.size()) != rows * columns ||
                static_cast<int64_t>(window.size() - tokens.size()) != m_special)
                return false;
            const int64_t at = placeOf(tokens, rows, columns, across);
            if (at < 0 || at >= static_cast<int64_t>(m_windows.size()) || taken[at]++) return false;
            m_found[at].tokens = tokens;
            for (const int32_t row : window)
                if (row >= 0 && m_embedding.image[row] == Embedding::kSpecial)
                    m_found[at].special.push_back(row);
        }
        return true;
    }

    // Returns the number of the window with these tokens, counted over all images; -1 if the tokens do not
    // form a window.
    int64_t placeOf(const List<int32_t>& tokens, int64_t rows, int64_t columns, int64_t across) const {
        const int32_t top = tokens[0];  // a valid window begins inside the grid, not with padding
        if (top < 0) return -1;
        const int64_t image = m_embedding.image[top], y = m_embedding.token[top] / m_embedding.gridColumns,
                      x = m_embedding.token[top] % m_embedding.gridColumns;
        if (y % rows || x % columns) return -1;
        for (size_t k = 0; k < tokens.size(); ++k) {
            const int64_t row = y + static_cast<int64_t>(k) / columns,
                          column = x + static_cast<int64_t>(k) % columns;
            const bool inside = row < m_embedding.gridRows && column < m_embedding.gridColumns;
            if (!inside && tokens[k] < 0) continue;
            if (inside != (tokens[k] >= 0)) return -1;
            const bool there = m_embedding.image[tokens[k]] == image &&
                               m_embedding.token[tokens[k]] == row * m_embedding.gridColumns + column;
            if (!there) return -1;
        }
        return image * windowsOfImage() + y / rows * across + x / columns;
    }

    // For each row of the stream, finds the window and the row of MpmEncoder's input.
    void placeRows() {
        List<int32_t>& places = m_encoder.windows.places;
        places.assign(m_embedding.image.size(), -1);
        m_windowOf.assign(places.size(), -1);
        const int64_t each = rowsOfImage(), special = windowsOfImage() * m_special;
        for (size_t w = 0; w < m_found.size(); ++w) {
            const int64_t image = static_cast<int64_t>(w) / windowsOfImage(),
                          number = static_cast<int64_t>(w) % windowsOfImage();
            const int64_t first = image * each;
            for (size_t k = 0; k < m_found[w].special.size(); ++k)
                places[m_found[w].special[k]] =
                    static_cast<int32_t>(first + number * m_special + static_cast<int64_t>(k));
            for (const int32_t row : m_found[w].tokens)
                if (row >= 0) places[row] = static_cast<int32_t>(first + special + m_embedding.token[row]);
            for (const List<int32_t>* rows : {&m_found[w].special, &m_found[w].tokens})
                for (const int32_t row : *rows)
                    if (row >= 0) m_windowOf[row] = static_cast<int32_t>(w);
        }
        if (std::find(places.begin(), places.end(), -1) != places.end()) fail("do not hold every token");
    }

    void takeBlock(int number, Block& block) {
        if (block.attention.keyBias.known()) fail("have a bias per key");
        if (block.rows != static_cast<int64_t>(m_windowOf.size()))
            fail("hold other tokens than another block's");
        if (block.windows.empty()) {
            if (block.layout != Layout::BatchFirst) fail("stand beside a global block in another order");
            block.windows.resize(static_cast<size_t>(m_images));
            for (int64_t row = 0; row < block.rows; ++row)
                block.windows[row / (block.rows / m_images)].push_back(static_cast<int32_t>(row));
            if (block.attention.rope) block.ropes.assign(block.windows.size(), *block.attention.rope);
        }
        const bool global = static_cast<int64_t>(block.windows.size()) == m_images;
        if (global) m_encoder.windows.globalBlocks.push_back(number);
        global ? checkGlobal(block) : checkWindowed(block);
        if (block.attention.rope) global ? takeImageRope(block) : takeWindowRope(block);
        block.windows.clear();
        block.ropes.clear();
        block.tokens = rowsOfImage();
        block.batch = m_images;
        block.layout = Layout::BatchFirst;
    }

    void checkGlobal(const Block& block) const {
        for (const List<int32_t>& rows : block.windows)
            for (const int32_t row : rows)
                if (row < 0 || imageOf(row) != imageOf(rows[0]))
                    fail("stand beside a block that mixes images");
    }

    int64_t imageOf(int32_t row) const { return m_windowOf[row] / windowsOfImage(); }

    // Returns the window of the first row that is not padding. Fails if all rows are padding.
    int32_t windowOf(const List<int32_t>& rows) const {
        const auto known = std::find_if(rows.begin(), rows.end(), [](int32_t row) { return row >= 0; });
        if (known == rows.end()) fail("hold nothing but padding");
        return m_windowOf[*known];
    }

    void checkWindowed(const Block& block) const {
        if (block.windows.size() != m_windows.size()) fail("differ between blocks");
        for (const List<int32_t>& rows : block.windows) {
            const int32_t window = windowOf(rows);
            for (const int32_t row : rows)
                if (row >= 0 && m_windowOf[row] != window) fail("differ between blocks");
            if (isPadded(rows) && tokensOf(rows) != m_found[window].tokens)
                fail("are padded differently between blocks");
        }
    }

    // Returns the rotary tables of `tokens`, in the order of `tokens`. `rope` has the tables of `rows`, a
    // whole window or image. Fails if special tokens are rotated.
    Rope ropeAt(const Rope& rope, const List<int32_t>& rows, const List<int32_t>& tokens) const {
        const int64_t heads = rope.cos.dim(0), length = rope.cos.dim(1), size = rope.cos.dim(2);
        std::map<int32_t, int64_t> at;
        List<int64_t> from;
        int64_t padded = 0;
        for (size_t k = 0; k < rows.size(); ++k) {
            const bool special = rows[k] >= 0 && m_embedding.image[rows[k]] == Embedding::kSpecial;
            if (special && rope.turns(static_cast<int64_t>(k))) fail("have special tokens that are rotated");
            if (rows[k] >= 0) at[rows[k]] = static_cast<int64_t>(k);
        }
        List<int64_t> paddedAt;
        for (size_t k = 0; k < rows.size(); ++k)
            if (rows[k] < 0) paddedAt.push_back(static_cast<int64_t>(k));
        for (const int32_t token : tokens)
            from.push_back(token >= 0 ? at.at(token) : paddedAt[padded++]);
        List<float> cos, sin;
        for (int64_t h = 0; h < heads; ++h) {
            for (const int64_t row : from) {
                for (int64_t c = 0; c < size; ++c) {
                    cos.push_back(rope.cos.f()[(h * length + row) * size + c]);
                    sin.push_back(rope.sin.f()[(h * length + row) * size + c]);
                }
            }
        }
        const Shape shape{heads, static_cast<int64_t>(from.size()), size};
        return {Tensor::floats(shape, cos), Tensor::floats(shape, sin), rope.interleaved};
    }

    // If the rotary tables of all windows are equal, stores the table of a window in the block. Otherwise
    // stores a table of the whole image.
    void takeWindowRope(Block& block) {
        List<Rope> ropes(m_found.size());
        for (size_t w = 0; w < block.windows.size(); ++w) {
            const List<int32_t>& rows = block.windows[w];
            const int32_t window = windowOf(rows);
            ropes[window] = ropeAt(block.ropes[w], rows, m_found[window].tokens);
        }
        const bool same = std::all_of(ropes.begin(), ropes.end(), [&](const Rope& rope) {
            return close(rope.cos, ropes[0].cos) && close(rope.sin, ropes[0].sin);
        });
        block.attention.rope = ropes[0];
        if (same) return;
        const int64_t heads = ropes[0].cos.dim(0), size = ropes[0].cos.dim(2), all = tokensOfImage();
        List<float> cos(static_cast<size_t>(elementCount({heads, all, size}))), sin = cos;
        for (size_t w = 0; w < ropes.size(); ++w) {
            if (ropes[w].cos.shape() != ropes[0].cos.shape()) fail("are rotated by heads differently");
            const auto count = static_cast<int64_t>(m_found[w].tokens.size());
            for (int64_t k = 0; k < heads * count * size; ++k) {
                const int32_t row = m_found[w].tokens[k / size % count];
                if (row < 0) fail("are padded and rotated by their place in the image");
                const int64_t to = (k / size / count * all + m_embedding.token[row]) * size + k % size;
                const bool first = static_cast<int64_t>(w) < windowsOfImage();
                if (!first && (!close(cos[to], ropes[w].cos.f()[k]) || !close(sin[to], ropes[w].sin.f()[k])))
                    fail("are rotated differently between images");
                if (!first) continue;
                cos[to] = ropes[w].cos.f()[k];
                sin[to] = ropes[w].sin.f()[k];
            }
        }
        block.attention.rope = Rope{Tensor::floats({heads, all, size}, cos),
                                    Tensor::floats({heads, all, size}, sin), ropes[0].interleaved};
    }

    void takeImageRope(Block& block) {
        List<int32_t> tokens(static_cast<size_t>(tokensOfImage()), -1);
        for (const int32_t row : block.windows[0])
            if (m_embedding.token[row] >= 0) tokens[m_embedding.token[row]] = row;
        block.attention.rope = ropeAt(block.ropes[0], block.windows[0], tokens);
    }

    // Fills the table: the constants that are added to the embedded patches, and the special tokens.
    void fillTable() {
        const int64_t dim = m_rows.shapeOf(m_encoder.input()).back(), each = rowsOfImage();
        Windows& windows = m_encoder.windows;
        List<float> table(static_cast<size_t>(elementCount({each, dim})));
        for (const bool first : {true, false}) {
            for (size_t row = 0; row < windows.places.size(); ++row) {
                const int64_t place = windows.places[row];
                if ((place < each) != first) continue;
                for (int64_t c = 0; c < dim; ++c) {
                    const float constant = m_embedding.terms[m_embedding.termRow[row] * dim + c].constant;
                    float& entry = table[place % each * dim + c];
                    if (first) entry = constant;
                    if (entry != constant) fail("begin with other constants for each image");
                }
            }
        }
        windows.table = Tensor::floats({each, dim}, table);
    }

    void describe() {
        Windows& windows = m_encoder.windows;
        windows.special = static_cast<int>(m_special);
        windows.padding =
            m_embedding.gridRows % windows.rows != 0 || m_embedding.gridColumns % windows.columns != 0;
        windows.source = m_embedding.source;
        windows.channelsLast = m_embedding.channelsLast;
        windows.norms.assign(m_embedding.norms.rbegin(), m_embedding.norms.rend());
        m_encoder.tokens = rowsOfImage();
        m_encoder.dim = m_rows.shapeOf(m_encoder.input()).back();
        m_encoder.special = checkedCast<int>(checkedProduct<int64_t>(windowsOfImage(), m_special));
        m_encoder.gridRows = m_embedding.gridRows;
        m_encoder.gridColumns = m_embedding.gridColumns;
    }

    const RowMatcher& m_rows;
    EncoderSpec& m_encoder;
    const int64_t m_images;
    Embedding m_embedding;
    List<List<int32_t>> m_windows;  // for each window, the rows that the first windowed block reads
    List<Window> m_found;           // sorted by image, then by place in the grid
    List<int32_t> m_windowOf;       // the window of each row of the stream
    int64_t m_special = 0;
};

}  // namespace

bool hasWindows(const EncoderSpec& encoder) {
    return std::any_of(encoder.blocks.begin(), encoder.blocks.end(),
                       [](const Block& block) { return !block.windows.empty(); });
}

void findWindows(const RowMatcher& rows, EncoderSpec& encoder) {
    WindowFinder(rows, encoder).run();
}

}  // namespace mpm::models
