// Renders text in outline fonts of the system, as coverage masks.
#pragma once

#include <memory>
#include <string>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// A face of a font file. Several threads may use it.
class Font {
public:
    /// Returns the font that MPM_FONT names, or a sans-serif font of the system; null if there is none.
    static const Font* sans(bool bold);

    /// Returns null if the file is not a scalable font.
    static std::unique_ptr<Font> open(const std::string& file);
    ~Font();

    /// Width of a line of UTF-8, in pixels, if a capital is `height` pixels high.
    double width(const std::string& text, double height) const;

    /// Coverage of a line, 0 to 255 (CV_8U). The base line begins at (margin, rows - margin); the margin has
    /// room for accents and for parts below the base line.
    cv::Mat coverage(const std::string& text, double height, int margin) const;

private:
    struct Face;
    explicit Font(std::unique_ptr<Face> face);
    std::unique_ptr<Face> m_face;
};

}  // namespace mpm::pipeline
