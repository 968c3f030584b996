// A chart of token counts over time, with bands for day and night, for reports and the demo.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct TimelinePoint {
    double time = 0;          ///< in hours or seconds: see TimelineStyle::unit
    std::vector<int> tokens;  ///< number of tokens after each stage; the last entry is for the encoder's end
    double luminance = 0;     ///< 0..1
    bool night = false;
};

struct TimelineStyle {
    cv::Size size{1280, 560};
    std::string title = "Tokens over time";
    std::string origin;               ///< text next to the title: model, source and date
    std::string unit = "s";           ///< "h": hours of the day, written as 06:00
    int tokensIn = 0;                 ///< number of image tokens before merging
    std::vector<std::string> stages;  ///< names of the curves: "before block 2", ...
    std::string counted = "tokens kept";
};

/// Draws the timeline. `points`: in order of time. If there are no points, draws a note.
cv::Mat drawTimeline(const std::vector<TimelinePoint>& points, const TimelineStyle& style = {});

/// Mean and standard deviation of the last stage's tokens, by day and by night.
struct DayNightSummary {
    double dayMean = 0, daySpread = 0, nightMean = 0, nightSpread = 0;
    int days = 0, nights = 0;  ///< numbers of points

    /// Returns the change of the mean from day to night, in percent of the mean by day. Returns 0 if day or
    /// night has no points, or if the mean by day is 0.
    double difference() const {
        return days > 0 && nights > 0 && dayMean != 0 ? 100 * (nightMean - dayMean) / dayMean : 0;
    }
};
DayNightSummary summarise(const std::vector<TimelinePoint>& points);

/// Computes a DayNightSummary frame by frame.
class DayNightSums {
public:
    void add(double tokens, bool night);
    DayNightSummary summary() const;

private:
    struct Sums {
        double sum = 0, squares = 0;
        int count = 0;
        double mean() const { return count > 0 ? sum / count : 0; }
        double spread() const;
    };
    Sums m_day, m_night;
};

}  // namespace mpm::pipeline
