#include "pipeline/draw/palette.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

namespace mpm::pipeline {

namespace {

/// A search chose these colours. They differ as much as possible from each other, also for red-green
/// colour-blind people, and from the monitor's light and dark backgrounds. Successive colours differ clearly.
/// The last six colours are muted, for classes that cover large areas.
enum Colour {
    Blue,
    Orange,
    Red,
    Lime,
    Purple,
    Yellow,
    Pink,
    Navy,
    Olive,
    Lilac,
    Violet,
    Wine,
    Plum,
    Indigo,
    Teal,
    Sand,
    Sky,
    Brown,
    Rose,
    Steel,
    Count
};
const cv::Vec3b kFirst[Count] = {{14, 139, 255},  {233, 132, 9},   {191, 4, 5},     {150, 250, 104},
                                 {154, 2, 182},   {255, 222, 18},  {237, 106, 179}, {13, 61, 177},
                                 {149, 176, 77},  {185, 146, 252}, {94, 74, 250},   {140, 5, 63},
                                 {99, 43, 112},   {55, 0, 253},    {38, 119, 117},  {240, 226, 175},
                                 {148, 222, 255}, {140, 112, 70},  {218, 150, 149}, {88, 131, 175}};

/// Words in class names, and the colour of a class whose name has any of these words.
struct Meaning {
    const char* words;
    Colour colour;
};
const Meaning kMeanings[] = {
    {" person pedestrian people human man woman child ", Red},
    {" rider bicyclist cyclist motorcyclist ", Orange},
    {" car van minibike ", Blue},
    {" truck lorry ", Indigo},
    {" bus trailer caravan ", Navy},
    {" train tram ", Violet},
    {" bicycle bike ", Yellow},
    {" motorcycle motorbike ", Pink},
    {" dog cat animal bird horse ", Plum},
    {" sign signboard ", Purple},
    {" light lamp streetlight ", Lilac},
    {" pole post column ", Olive},
    {" grass terrain field ", Lime},
    {" sky ", Sky},
    {" road street route lane ground asphalt ", Brown},
    {" pavement sidewalk path floor ", Sand},
    {" building house skyscraper edifice ", Rose},
    {" tree vegetation plant ", Teal},
    {" fence wall fencing railing ", Steel},
};

/// Returns a colour for an index. Steps of the golden angle keep the hues of many colours apart. Three levels
/// of lightness separate similar hues.
cv::Vec3b spread(int index) {
    constexpr double kGolden = 0.61803398875;
    const double hue = std::fmod(0.07 + index * kGolden, 1.0) * 360;
    const float lightness[] = {0.50f, 0.68f, 0.36f};
    const cv::Mat hls(1, 1, CV_32FC3, cv::Scalar(hue, lightness[index % 3], 0.65));
    cv::Mat rgb;
    cv::cvtColor(hls, rgb, cv::COLOR_HLS2RGB);
    const cv::Vec3f value = rgb.at<cv::Vec3f>(0) * 255.f;
    return {cv::saturate_cast<uchar>(value[0]), cv::saturate_cast<uchar>(value[1]),
            cv::saturate_cast<uchar>(value[2])};
}

/// Returns the colour of the first word of `name` that is in kMeanings; Count if there is no such word.
Colour meaningOf(const std::string& name) {
    std::string word;
    for (const char c : name + ' ') {
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if (lower >= 'a' && lower <= 'z') {
            word += lower;
            continue;
        }
        for (const Meaning& meaning : kMeanings)
            if (!word.empty() && std::string(meaning.words).find(' ' + word + ' ') != std::string::npos)
                return meaning.colour;
        word.clear();
    }
    return Count;
}

}  // namespace

Palette defaultPalette(int count) {
    Palette colours;
    for (int i = 0; i < count; ++i)
        colours.push_back(i < Count ? kFirst[i] : spread(i - Count));
    return colours;
}

Palette namedPalette(const std::vector<std::string>& names) {
    std::vector<int> chosen(names.size(), -1);
    std::vector<bool> used(Count + names.size());
    for (std::size_t id = 0; id < names.size(); ++id) {
        const Colour colour = meaningOf(names[id]);
        if (colour == Count || used[colour]) continue;
        used[colour] = true;
        chosen[id] = colour;
    }
    int next = 0;
    for (int& colour : chosen) {
        while (colour < 0 && used[static_cast<std::size_t>(next)])
            ++next;
        if (colour < 0) colour = next++;
    }
    const Palette all = defaultPalette(static_cast<int>(used.size()));
    Palette colours;
    for (const int colour : chosen)
        colours.push_back(all[static_cast<std::size_t>(colour)]);
    return colours;
}

Palette completePalette(const Palette& given, int count) {
    Palette colours = defaultPalette(std::max(count, static_cast<int>(given.size())));
    std::copy(given.begin(), given.end(), colours.begin());
    return colours;
}

Palette paletteOf(const Palette& given, const std::vector<std::string>& names, int count) {
    return completePalette(given.empty() ? namedPalette(names) : given, count);
}

}  // namespace mpm::pipeline
