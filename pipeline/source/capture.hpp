// Sources that read image files, and sources (cameras, videos, streams, pipelines) that use cv::VideoCapture.
#pragma once

#include <memory>

#include <opencv2/videoio.hpp>

#include "pipeline/source/host_relay.hpp"
#include "pipeline/source/source.hpp"

namespace mpm::pipeline {

class CaptureSource : public Source {
public:
    /// `kind`: Camera, Stream, Pipeline or Video.
    CaptureSource(SourceKind kind, Address address, const SourceOptions& options);

    void open() override;
    bool next(Frame& frame) override;
    bool live() const override { return m_live; }
    std::string name() const override { return m_address.shown(); }
    std::int64_t length() const override { return m_length; }
    double rate() const override { return m_rate; }
    bool seek(std::int64_t frame) override;
    std::string codec() const override { return m_codec; }

private:
    void checkFile() const;
    void checkRelay() const;
    bool openCapture();
    void readProperties();
    void checkSize();
    bool brokenFile() const;
    SourceProblem::Kind problem() const;
    std::string frameName() const;

    SourceKind m_kind;
    Address m_address;
    SourceOptions m_options;
    std::unique_ptr<HostRelay> m_relay;  ///< the proxy for a playlist; null for other addresses
    cv::VideoCapture m_capture;
    bool m_live;
    std::int64_t m_length = -1;
    std::int64_t m_number = 0;
    double m_rate = 0;
    std::string m_codec;
    std::chrono::steady_clock::time_point m_opened;
};

class ImageFilesSource : public Source {
public:
    explicit ImageFilesSource(Address address);

    void open() override;
    bool next(Frame& frame) override;
    bool live() const override { return false; }
    std::string name() const override { return m_address.shown(); }
    std::int64_t length() const override { return static_cast<std::int64_t>(m_paths.size()); }
    bool seek(std::int64_t frame) override;

private:
    std::string shownPath(const std::string& path) const;

    Address m_address;
    std::vector<std::string> m_paths;
    std::vector<std::string> m_stems;  ///< stems of the file names of m_paths, made unique
    size_t m_next = 0;
};

/// Returns whether the extension of `path` belongs to an image format that OpenCV reads.
bool hasImageExtension(const std::string& path);

}  // namespace mpm::pipeline
