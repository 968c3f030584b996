// Renders text in the system's outline fonts as coverage masks.
#pragma once

#include <memory>
#include <string>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// A font from a file. Several threads may use a font at the same time.
class Font {
public:
    /// Returns the font that $MPM_FONT names, or a sans-serif font of the system; null if there is none.
    static const Font* sans(bool bold);

    /// Opens a font. Returns null if the file is not a scalable font.
    static std::unique_ptr<Font> open(const std::string& file);
    ~Font();

    /// Returns the width of a line of UTF-8 text in pixels. `height`: pixels of a capital letter.
    double width(const std::string& text, double height) const;

    /// Returns the coverage of each pixel by a line of text: CV_8U, 0 to 255. The base line begins at x =
    /// margin, y = rows - margin. The margin must have room for accents and for parts below the base line.
    cv::Mat coverage(const std::string& text, double height, int margin) const;

private:
    struct Face;
    explicit Font(std::unique_ptr<Face> face);
    std::unique_ptr<Face> m_face;
};

}  // namespace mpm::pipeline
