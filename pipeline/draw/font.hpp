// Text in outline fonts of the system, rendered as coverage masks.
#pragma once

#include <memory>
#include <string>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// A font from a file. Several threads may use a font at the same time.
class Font {
public:
    /// Returns the font that MPM_FONT names, or a sans-serif font of the system; null if there is none.
    static const Font* sans(bool bold);

    /// Opens a font. Returns null if the file is not a scalable font.
    static std::unique_ptr<Font> open(const std::string& file);
    ~Font();

    /// Returns the width of a line of UTF-8 in pixels, if a capital is `height` pixels high.
    double width(const std::string& text, double height) const;

    /// Returns the coverage of a line, 0 to 255 (CV_8U). The base line begins at (margin, rows - margin). The
    /// margin must have room for accents and for parts below the base line.
    cv::Mat coverage(const std::string& text, double height, int margin) const;

private:
    struct Face;
    explicit Font(std::unique_ptr<Face> face);
    std::unique_ptr<Face> m_face;
};

}  // namespace mpm::pipeline
