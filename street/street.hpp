// A street seen by a fixed camera, by day and night, with exact labels.
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
    int label = 0;        ///< CamVid's id
    cv::Rect box;         ///< of the whole object as far as it is in the frame, hidden parts included
    double visible = 1;   ///< share of the object's pixels in the frame that nothing hides
};

struct StreetFrame {
    cv::Mat image;   ///< CV_8UC3, BGR
    cv::Mat labels;  ///< CV_8U, CamVid's ids; every pixel has a label
    double hour = 12;
    std::vector<StreetObject> objects;  ///< of at least one pixel, hidden or not; sorted by id
};

/// The same size, seed, hour and second always give the same frame. Not thread-safe.
class Street {
public:
    /// `samples` x `samples` rays in each pixel: 2 smooths edges, 1 is faster.
    Street(cv::Size size, uint64_t seed, int samples = 2);
    ~Street();
    Street(Street&&) noexcept;
    Street& operator=(Street&&) noexcept;

    /// Returns a frame. `hour` of the day, 0..24 or more (light changes in steps of two minutes); `seconds`
    /// move the traffic.
    StreetFrame at(double hour, double seconds);

    cv::Size size() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

struct NightParameters {
    double luminance = 0.35;  ///< factor of values from 0 to 1
    double photons = 250;     ///< photons counted at the value 1
    double deviation = 0.01;  ///< of the Gaussian noise, on values of 0..1
};

/// Returns the image (CV_8U, any channels) under simulated night. The same seed gives the same noise.
cv::Mat night(const cv::Mat& image, const NightParameters& parameters, uint64_t seed);

/// Scripts that may raise false alarms: rain, insects, lights and shadows that do not come from objects of
/// the street.
enum class Script {
    None,
    Rain,        ///< streaks over the whole frame
    Headlights,  ///< of cars outside the frame; the light sweeps over it
    Shadows,     ///< of clouds; on the ground, of passers-by outside the frame
    Insects      ///< close to the lens, in the light of the camera
};

/// Paints a script on the frame's image, but does not change labels and objects. The same seed and seconds
/// always give the same image.
void paintScript(Script script, double seconds, uint64_t seed, StreetFrame& frame);

/// The hour at which a clip begins, and the noise of the camera in the light of that hour.
struct ClipLight {
    double hour = 13;
    NightParameters noise;
    Script script = Script::None;
};

/// Returns the light of this name: "day", "dusk", "night"; by day "rain" and "shadows", by night "headlights"
/// and "insects". Throws cv::Exception for other names.
ClipLight clipLight(const std::string& name);
std::vector<std::string> clipLights();

/// The same arguments always give the same frames, in any order. Not thread-safe.
class Clip {
public:
    /// `rate`: frames per second; 0: nothing moves.
    Clip(cv::Size size, const ClipLight& light, double rate, int seed);

    StreetFrame frame(int number);

private:
    const ClipLight m_light;
    const double m_rate;
    const int m_seed;
    Street m_street;
};

}  // namespace mpm::street
