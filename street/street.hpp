// A street that a fixed camera sees by day and night, with exact labels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::street {

/// A car, a person on foot or a person on a bicycle.
struct StreetObject {
    std::int64_t id = 0;  ///< 1 or more; the same in all frames while the object is in the street
    int label = 0;        ///< class id of the data set CamVid
    cv::Rect box;         ///< box around the object's pixels in the frame, including hidden pixels
    double visible = 1;   ///< share of the object's pixels in the frame that are not hidden
};

struct StreetFrame {
    cv::Mat image;   ///< CV_8UC3, BGR
    cv::Mat labels;  ///< CV_8U, class ids of CamVid; every pixel has a label
    double hour = 12;
    std::vector<StreetObject> objects;  ///< objects with pixels in the frame, even if hidden; sorted by id
};

/// The same size, seed, hour and seconds always give the same frame. Not thread-safe.
class Street {
public:
    /// Computes `samples` x `samples` rays for each pixel: 2 smooths edges, 1 is faster.
    Street(cv::Size size, uint64_t seed, int samples = 2);
    ~Street();
    Street(Street&&) noexcept;
    Street& operator=(Street&&) noexcept;

    /// Returns a frame. `hour`: hour of the day, modulo 24; the light changes in steps of two minutes.
    /// `seconds`: time that determines the positions of moving actors.
    StreetFrame at(double hour, double seconds);

    cv::Size size() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

struct NightParameters {
    double luminance = 0.35;  ///< factor that darkens values 0..1
    double photons = 250;     ///< photons counted at the value 1
    double deviation = 0.01;  ///< standard deviation of Gaussian noise, for values 0..1
};

/// Returns the image (CV_8U, any number of channels) as a camera would see it at night. The same seed gives
/// the same noise.
cv::Mat night(const cv::Mat& image, const NightParameters& parameters, uint64_t seed);

/// Effects that may cause false alarms: rain, insects, and lights and shadows of things outside the frame.
enum class Script {
    None,
    Rain,        ///< streaks over the whole frame
    Headlights,  ///< light of cars outside the frame, which sweeps over the frame
    Shadows,     ///< shadows of clouds, and (only on the ground) of passers-by outside the frame
    Insects      ///< close to the lens, in light from the camera
};

/// Paints the effect on the frame's image. Labels and objects do not change. The same seed and seconds always
/// give the same image.
void paintScript(Script script, double seconds, uint64_t seed, StreetFrame& frame);

/// The light of a clip: the hour at which the clip begins, the camera's noise at this hour, and an effect.
struct ClipLight {
    double hour = 13;
    NightParameters noise;
    Script script = Script::None;
};

/// Returns the light with this name: "day", "dusk" or "night"; "rain" or "shadows" by day, "headlights" or
/// "insects" by night. Throws cv::Exception for other names.
ClipLight clipLight(const std::string& name);
std::vector<std::string> clipLights();

/// The same arguments always give the same frames, in any order. Not thread-safe.
class Clip {
public:
    /// `rate`: frames per second; if 0, nothing moves.
    Clip(cv::Size size, const ClipLight& light, double rate, int seed);

    /// Frames that differ only in `noise` show the same scene with different camera noise.
    StreetFrame frame(int number, int noise = 0);

private:
    const ClipLight m_light;
    const double m_rate;
    const int m_seed;
    Street m_street;
};

}  // namespace mpm::street
