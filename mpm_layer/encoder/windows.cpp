#include "mpm_layer/encoder/windows.hpp"

#include <algorithm>
#include <numeric>

namespace mpm {

Windows::Windows(const EncoderConfig& config, int tokens)
    : m_grid(config.grid), m_window(config.window), m_positions(tokens), m_first{0} {
    if (!config.windowed()) {
        std::iota(m_positions.begin(), m_positions.end(), 0);
        m_first.push_back(tokens);
        return;
    }
    m_positions.clear();
    for (int window = 0; window < config.windows(); ++window) {
        const cv::Rect area = areaOf(window);
        for (int y = area.y; y < area.br().y; ++y)
            for (int x = area.x; x < area.br().x; ++x)
                m_positions.push_back(y * m_grid.width + x);
        m_first.push_back(static_cast<int>(m_positions.size()));
    }
}

cv::Rect Windows::areaOf(int window) const {
    const int across = (m_grid.width + m_window.width - 1) / m_window.width;
    const cv::Point corner(window % across * m_window.width, window / across * m_window.height);
    return {corner, cv::Size(std::min(m_window.width, m_grid.width - corner.x),
                             std::min(m_window.height, m_grid.height - corner.y))};
}

cv::Size Windows::grid(int window) const {
    return m_window.empty() ? m_grid : areaOf(window).size();
}

int Windows::place(int position) const {
    const int y = position / m_grid.width % m_window.height, x = position % m_grid.width % m_window.width;
    return y * m_window.width + x;
}

std::vector<int> Windows::padding(int window) const {
    std::vector<int> places;
    const cv::Size own = grid(window);
    for (int place = 0; place < m_window.area(); ++place)
        if (place / m_window.width >= own.height || place % m_window.width >= own.width)
            places.push_back(place);
    return places;
}

std::vector<std::vector<int>> tokensByWindow(const EncoderConfig& config, const ImageReport& image) {
    const Windows windows(config, static_cast<int>(image.map.total()));
    std::vector<int> whole(image.map.total());  // window of each token
    for (int w = 0; w < windows.count(); ++w)
        for (int t = 0; t < windows.tokens(w); ++t)
            whole[windows.positions(w)[t]] = w;
    std::vector<int> owners = whole;  // window of each cluster
    const auto merge = [&](const Stage& stage) {
        if (stage.map.total() != owners.size()) owners = whole;  // the segment starts with all tokens
        CV_Assert(stage.map.total() == owners.size());
        std::vector<int> merged(stage.tokens);
        for (size_t t = 0; t < owners.size(); ++t)
            merged[stage.map.at<int>(static_cast<int>(t))] = owners[t];
        owners = merged;
    };
    std::vector<std::vector<int>> tokens;
    auto stage = image.stages.begin();
    int block = config.firstBlock;
    for (const size_t entering : image.tokens) {
        for (; stage != image.stages.end() && stage->block < block; ++stage)
            merge(*stage);
        if (owners.size() < entering) owners = whole;
        // Stops at a stage whose number of input tokens is `entering`: this stage merges nothing, or merges
        // after the block's attention.
        for (; stage != image.stages.end() && stage->block == block &&
               (owners.size() != entering || owners.size() != stage->map.total());
             ++stage)
            merge(*stage);
        tokens.emplace_back(windows.count(), 0);
        for (const int owner : owners)
            ++tokens.back()[owner];
        ++block;
    }
    return tokens;
}

}  // namespace mpm
