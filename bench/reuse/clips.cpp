#include "bench/reuse/clips.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include <opencv2/videoio.hpp>

namespace mpm::bench {
namespace {

const cv::Size kSize(640, 480);

Clip stored(std::vector<street::StreetFrame> shots) {
    const auto kept = std::make_shared<std::vector<street::StreetFrame>>(std::move(shots));
    return {[kept](int number) { return kept->at(static_cast<size_t>(number)); },
            static_cast<int>(kept->size())};
}

}  // namespace

Clip street(const std::string& light, double rate, int seed, int frames) {
    const auto clip = std::make_shared<street::Clip>(kSize, street::clipLight(light), rate, seed);
    return {[clip](int number) { return clip->frame(number); }, frames};
}

Clip atHour(int hour, int seed, int frames) {
    const bool day = hour >= 7 && hour < 19, dusk = hour == 6 || hour == 19;
    street::ClipLight light = street::clipLight(day ? "day" : dusk ? "dusk" : "night");
    light.hour = hour;
    const auto clip = std::make_shared<street::Clip>(kSize, light, 5, seed);
    return {[clip](int number) { return clip->frame(number); }, frames};
}

Clip frozen(const std::string& light, int seed, int frames) {
    const street::StreetFrame shot = street(light, 0, seed, 1).shots(0);
    return {[shot](int) { return shot; }, frames};
}

Clip everyFrameNew(int seed, int frames) {
    return {[seed](int number) { return street("day", 0, seed + number, 1).shots(0); }, frames};
}

Clip recorded(const Clip& clip) {
    std::vector<street::StreetFrame> shots;
    for (int number = 0; number < clip.frames; ++number)
        shots.push_back(clip.shots(number));
    return stored(std::move(shots));
}

Clip throughX264(const Clip& clip, const std::string& folder) {
    const std::string path = folder + "/mpm_reuse_clip_" + std::to_string(::getpid()) + ".mp4";
    std::vector<street::StreetFrame> shots;
    {
        cv::VideoWriter writer(path, cv::CAP_FFMPEG, cv::VideoWriter::fourcc('a', 'v', 'c', '1'), 5, kSize);
        if (!writer.isOpened()) return {};
        for (int number = 0; number < clip.frames; ++number) {
            shots.push_back(clip.shots(number));
            writer.write(shots.back().image);
        }
    }
    cv::VideoCapture capture(path, cv::CAP_FFMPEG);
    size_t read = 0;
    for (cv::Mat image; read < shots.size() && capture.read(image); ++read)
        shots[read].image = image.clone();
    std::remove(path.c_str());
    if (read < shots.size()) return {};
    return stored(std::move(shots));
}

Clip video(const std::string& path, int frames) {
    cv::VideoCapture capture(path);
    std::vector<street::StreetFrame> shots;
    for (cv::Mat image; static_cast<int>(shots.size()) < frames && capture.read(image);)
        shots.push_back({image.clone(), {}, 0, {}});
    return stored(std::move(shots));
}

}  // namespace mpm::bench
