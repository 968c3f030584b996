#include "pipeline/source/capture.hpp"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include <opencv2/imgcodecs.hpp>

#include "pipeline/image/read.hpp"
#include "pipeline/source/address_parts.hpp"

namespace fs = std::filesystem;

namespace mpm::pipeline {

namespace {

bool isNumeral(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Returns whether `a` comes before `b`. Compares numbers by value, so frame2 comes before frame10.
bool naturalLess(const std::string& a, const std::string& b) {
    size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (isNumeral(a[i]) && isNumeral(b[j])) {
            while (i < a.size() && a[i] == '0')
                ++i;
            while (j < b.size() && b[j] == '0')
                ++j;
            size_t endA = i, endB = j;
            while (endA < a.size() && isNumeral(a[endA]))
                ++endA;
            while (endB < b.size() && isNumeral(b[endB]))
                ++endB;
            if (endA - i != endB - j) return endA - i < endB - j;
            if (const int order = a.compare(i, endA - i, b, j, endB - j)) return order < 0;
            i = endA, j = endB;
        } else {
            const auto one = static_cast<unsigned char>(a[i]), other = static_cast<unsigned char>(b[j]);
            if (one != other) return one < other;
            ++i, ++j;
        }
    }
    if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
    return a < b;
}

std::vector<std::string> matches(const std::string& pattern) {
    glob_t found{};
    std::vector<std::string> paths;
    if (::glob(pattern.c_str(), GLOB_TILDE, nullptr, &found) == 0)
        paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    return paths;
}

}  // namespace

bool hasImageExtension(const std::string& path) {
    static const std::set<std::string> endings = {".jpg",  ".jpeg", ".png", ".bmp", ".tif",
                                                  ".tiff", ".webp", ".ppm", ".pgm", ".pnm"};
    return endings.count(lowered(fs::path(path).extension().string())) > 0;
}

std::vector<std::string> imagePaths(const std::string& text) {
    std::vector<std::string> paths;
    std::error_code error;
    if (fs::is_directory(text, error)) {
        for (const auto& entry : fs::directory_iterator(text, error))
            if (entry.is_regular_file(error) && hasImageExtension(entry.path()))
                paths.push_back(entry.path());
    } else if (fs::exists(text, error)) {
        return {text};
    } else {
        paths = matches(text);
        const auto unwanted = [](const std::string& path) { return !hasImageExtension(path); };
        paths.erase(std::remove_if(paths.begin(), paths.end(), unwanted), paths.end());
    }
    std::sort(paths.begin(), paths.end(), naturalLess);
    return paths;
}

ImageFilesSource::ImageFilesSource(Address address) : m_address(std::move(address)) {}

/// Returns the path. If the source is from env: or secret:, returns only the names of source and file.
std::string ImageFilesSource::shownPath(const std::string& path) const {
    return m_address.isNamed() ? name() + ", " + fs::path(path).filename().string() : path;
}

void ImageFilesSource::open() {
    m_paths = imagePaths(m_address.reveal());
    if (m_paths.empty() && isUnreadable(m_address.reveal()))
        throw SourceError(SourceProblem::Kind::PermissionDenied, name());
    if (m_paths.empty()) throw SourceError(SourceProblem::Kind::NoImages, name());
    m_stems.clear();
    for (const std::string& path : m_paths)
        m_stems.push_back(fs::path(path).stem().string());
    // Makes stems unique, so that images with the same stem (a.jpg and a.png, or in two folders of a glob) do
    // not overwrite each other's results.
    std::set<std::string> taken;
    for (std::string& stem : m_stems) {
        std::string unique = stem;
        for (int copy = 2; !taken.insert(unique).second; ++copy)
            unique = stem + "_" + std::to_string(copy);
        stem = unique;
    }
    m_next = 0;
}

bool ImageFilesSource::seek(std::int64_t frame) {
    if (frame < 0 || frame >= length()) return false;
    m_next = static_cast<size_t>(frame);
    return true;
}

bool ImageFilesSource::next(Frame& frame) {
    if (m_next >= m_paths.size()) return false;
    const size_t index = m_next++;
    const std::string& path = m_paths[index];
    try {
        frame.image = readImage(path, cv::IMREAD_COLOR);
    } catch (const ImageError& error) {
        throw BadImage(SourceProblem::Kind::UnreadableImage, shownPath(path), {error.what()});
    }
    frame.number = static_cast<std::int64_t>(index);
    frame.time = std::chrono::system_clock::now();
    frame.name = m_stems[index];
    frame.seconds = static_cast<double>(index);  // images have no clock, so each image lasts a second
    return true;
}

}  // namespace mpm::pipeline
