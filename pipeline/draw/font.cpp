#include "pipeline/draw/font.hpp"

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>

#include "base/printable.hpp"

namespace mpm::pipeline {

namespace {

constexpr char32_t kUnknown = 0xFFFD;  // replaces bytes that are not UTF-8
constexpr FT_Int32 kLoad = FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP;

/// Sans-serif fonts, regular and bold. Fontconfig is not used, because its parser crashes if memory runs out.
constexpr const char* kFiles[][2] = {
    {"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
     "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"},
    {"/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
     "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans-Bold.ttf"},
    {"/usr/share/fonts/TTF/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans-Bold.ttf"},
    {"/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
     "/usr/share/fonts/truetype/liberation/LiberationSans-Bold.ttf"},
    {"/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
     "/usr/share/fonts/truetype/noto/NotoSans-Bold.ttf"},
};

std::unique_ptr<Font> openSans(bool bold) {
    if (const char* file = std::getenv("MPM_FONT")) return Font::open(file);
    for (const auto& files : kFiles)
        if (auto font = Font::open(files[bold ? 1 : 0])) return font;
    return nullptr;
}

std::u32string codePoints(const std::string& text) {
    std::u32string points;
    for (std::size_t at = 0; at < text.size();) {
        const detail::Utf8Character character = detail::utf8At(text, at);
        points += character.length == 0 ? kUnknown : static_cast<char32_t>(character.point);
        at += std::max<std::size_t>(1, character.length);
    }
    return points;
}

/// Adds a glyph's bitmap. If glyphs overlap, each pixel keeps the larger coverage.
void add(cv::Mat& mask, const FT_Bitmap& bitmap, cv::Point at) {
    for (int row = 0; row < static_cast<int>(bitmap.rows); ++row) {
        const int y = at.y + row;
        if (y < 0 || y >= mask.rows) continue;
        const uchar* from = bitmap.buffer + static_cast<std::ptrdiff_t>(row) * bitmap.pitch;
        uchar* to = mask.ptr<uchar>(y);
        for (int column = 0; column < static_cast<int>(bitmap.width); ++column) {
            const int x = at.x + column;
            if (x >= 0 && x < mask.cols) to[x] = std::max(to[x], from[column]);
        }
    }
}

}  // namespace

struct Font::Face {
    FT_Library library = nullptr;
    FT_Face face = nullptr;
    double capital = 0;  ///< height of a capital letter, relative to the font size
    std::mutex mutex;

    Face() = default;
    Face(const Face&) = delete;
    Face& operator=(const Face&) = delete;
    ~Face() {
        if (face != nullptr) FT_Done_Face(face);
        if (library != nullptr) FT_Done_FreeType(library);
    }

    bool open(const std::string& file) {
        if (FT_Init_FreeType(&library) != 0 || FT_New_Face(library, file.c_str(), 0, &face) != 0)
            return false;
        if (!FT_IS_SCALABLE(face) || FT_Load_Char(face, 'H', FT_LOAD_NO_SCALE) != 0) return false;
        capital = double(face->glyph->metrics.horiBearingY) / face->units_per_EM;
        return capital > 0;
    }

    /// For every glyph, calls `each` with the glyph and its x. Returns the x of the line's end. Every x is in
    /// units of 1/64 pixel.
    template <typename Each>
    FT_Pos layOut(const std::string& text, double height, Each each) {
        const auto size = static_cast<FT_F26Dot6>(std::lround(64 * std::max(1.0, height / capital)));
        FT_Set_Char_Size(face, size, size, 72, 72);
        FT_Pos at = 0;
        FT_UInt last = 0;
        for (const char32_t point : codePoints(text)) {
            const FT_UInt glyph = FT_Get_Char_Index(face, point);
            FT_Vector kerning{};
            if (last != 0) FT_Get_Kerning(face, last, glyph, FT_KERNING_UNFITTED, &kerning);
            at += kerning.x;
            if (FT_Load_Glyph(face, glyph, kLoad) != 0) continue;
            each(face->glyph, at);
            at += face->glyph->linearHoriAdvance >> 10;  // 16.16 to 26.6 fixed point
            last = glyph;
        }
        return at;
    }
};

Font::Font(std::unique_ptr<Face> face) : m_face(std::move(face)) {}

Font::~Font() = default;

std::unique_ptr<Font> Font::open(const std::string& file) {
    auto face = std::make_unique<Face>();
    if (!face->open(file)) return nullptr;
    return std::unique_ptr<Font>(new Font(std::move(face)));
}

const Font* Font::sans(bool bold) {
    static const std::unique_ptr<Font> regular = openSans(false), heavy = openSans(true);
    return (bold ? heavy : regular).get();
}

double Font::width(const std::string& text, double height) const {
    const std::lock_guard lock(m_face->mutex);
    return double(m_face->layOut(text, height, [](FT_GlyphSlot, FT_Pos) {})) / 64;
}

cv::Mat Font::coverage(const std::string& text, double height, int margin) const {
    const int columns = static_cast<int>(std::ceil(width(text, height))) + 2 * margin;
    cv::Mat mask = cv::Mat::zeros(static_cast<int>(std::ceil(height)) + 2 * margin, columns, CV_8U);
    const int base = mask.rows - margin;
    const std::lock_guard lock(m_face->mutex);
    m_face->layOut(text, height, [&](FT_GlyphSlot glyph, FT_Pos at) {
        // Shifts the outline by the fractional part of `at`, so that spacing is even at small sizes.
        FT_Outline_Translate(&glyph->outline, at & 63, 0);
        if (FT_Render_Glyph(glyph, FT_RENDER_MODE_NORMAL) != 0) return;
        add(mask, glyph->bitmap,
            {margin + static_cast<int>(at >> 6) + glyph->bitmap_left, base - glyph->bitmap_top});
    });
    return mask;
}

}  // namespace mpm::pipeline
