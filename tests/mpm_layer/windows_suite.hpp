// Encoders with windows, and an oracle that computes each window separately in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "mpm_layer/chain_suite.hpp"
#include "mpm_layer/kernels/product/i8.hpp"
#include "support/oracle_block.hpp"
#include "support/refusal.hpp"

namespace mpm::test {
inline const Target kF32{"F32", Device::Cpu, Precision::F32, 1e-5, true};
inline const Target kBf16{"Bf16", Device::Cpu, Precision::BF16, 2e-2, false};
inline const Target kI8{"I8", Device::Cpu, Precision::I8, kernels::hasI8() ? 5e-2 : 1e-1, false};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EncoderOptionsTest);  // encoder_test.cpp runs these tests
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EncoderTest);

using Tokens = std::vector<OracleToken>;

struct WindowedOutput {
    std::vector<Rows> taps;
    std::vector<std::vector<int>> stageMaps;  ///< ids are in raster order of the representatives
    std::vector<double> margins;              ///< the smallest margin of each stage
};

// The tokens of an image between two blocks, separated by window.
class WindowedWalk {
public:
    WindowedWalk(const EncoderConfig& config, const Rows& rows, const std::vector<double>& bias)
        : m_config(config),
          m_across((config.grid.width + config.window.width - 1) / config.window.width),
          m_down((config.grid.height + config.window.height - 1) / config.window.height),
          m_special(m_across * m_down),
          m_image(m_across * m_down) {
        const auto biasOf = [&](size_t row) { return bias.empty() ? 0.0 : bias[row]; };
        size_t row = 0;
        for (Tokens& special : m_special)
            for (int e = 0; e < config.specialTokens; ++e, ++row)
                special.push_back({rows[row], -1, biasOf(row)});
        for (int position = 0; row < rows.size(); ++position, ++row) {
            Tokens& window = m_image[windowOf(position)];
            m_rowOf.push_back(static_cast<int>(window.size()));
            window.push_back({rows[row], position, biasOf(row)});
        }
    }

    // Numbers the remaining tokens in raster order of the representatives. Returns the number for the
    // position of each representative.
    std::map<int, int> numbers() const {
        std::map<int, int> numbers;
        for (const Tokens& window : m_image)
            for (const OracleToken& token : window)
                numbers[token.position];
        int next = 0;
        for (auto& [position, number] : numbers)
            number = next++;
        return numbers;
    }

    std::vector<int> merge(double& margin) {
        std::vector<std::vector<int>> maps;
        margin = HUGE_VAL;
        for (const Tokens& window : m_image) {
            Rows rows;
            for (const OracleToken& token : window)
                rows.push_back(token.value);
            const OracleMerge merge = oracleMerge(rows);
            for (const double m : merge.margin)
                margin = std::min(margin, m);
            maps.push_back(merge.map);
        }
        return apply(maps);
    }

    // Merges the remaining tokens of the image by `map`, which has entries in the order of numbers().
    void impose(const std::vector<int>& map) {
        const std::map<int, int> numbers = this->numbers();
        std::vector<std::vector<int>> maps;
        for (const Tokens& window : m_image) {
            std::map<int, int> local;
            std::vector<int> ids;
            for (const OracleToken& token : window)
                local[map[numbers.at(token.position)]];
            int next = 0;
            for (auto& [id, number] : local)
                number = next++;
            for (const OracleToken& token : window)
                ids.push_back(local[map[numbers.at(token.position)]]);
            maps.push_back(ids);
        }
        apply(maps);
    }

    void block(const OracleBlocks& blocks, int number) {
        const std::vector<int>& global = m_config.globalBlocks;
        const bool isGlobal = std::count(global.begin(), global.end(), number) > 0;
        if (!isGlobal) {
            for (size_t w = 0; w < m_image.size(); ++w)
                run(blocks, number, w, w + 1, true);
        } else {
            run(blocks, number, 0, m_image.size(), false);
        }
    }

    Rows restored(const OracleBlocks& blocks, bool norm) const {
        Rows rows;
        const auto add = [&](const OracleToken& token) {
            rows.push_back(norm ? blocks.finalNorm(token.value) : token.value);
        };
        for (const Tokens& special : m_special)
            for (const OracleToken& token : special)
                add(token);
        for (int position = 0; position < static_cast<int>(m_rowOf.size()); ++position)
            add(m_image[windowOf(position)][m_rowOf[position]]);
        return rows;
    }

private:
    int windowOf(int position) const {
        const int y = position / m_config.grid.width, x = position % m_config.grid.width;
        return y / m_config.window.height * m_across + x / m_config.window.width;
    }
    int placeOf(int position) const {
        const int y = position / m_config.grid.width, x = position % m_config.grid.width;
        return y % m_config.window.height * m_config.window.width + x % m_config.window.width;
    }

    std::vector<int> apply(const std::vector<std::vector<int>>& maps) {
        const std::map<int, int> before = numbers();
        std::vector<std::pair<int, int>> merged;  // a token's number, and its cluster's position
        for (size_t w = 0; w < maps.size(); ++w) {
            Tokens clusters;
            for (size_t t = 0; t < maps[w].size(); ++t) {
                const OracleToken& from = m_image[w][t];
                const size_t id = maps[w][t];
                while (clusters.size() <= id)
                    clusters.push_back({std::vector<double>(from.value.size(), 0.0), 1 << 30, 0, 0});
                OracleToken& to = clusters[id];
                const double members = std::count(maps[w].begin(), maps[w].end(), maps[w][t]);
                for (size_t k = 0; k < from.value.size(); ++k)
                    to.value[k] += from.value[k] / members;
                to.position = std::min(to.position, from.position);
                to.bias = (to.bias * to.stands + from.bias * from.stands) / (to.stands + from.stands);
                to.stands += from.stands;
            }
            for (size_t t = 0; t < maps[w].size(); ++t)
                merged.emplace_back(before.at(m_image[w][t].position), clusters[maps[w][t]].position);
            m_image[w] = clusters;
        }
        for (size_t position = 0; position < m_rowOf.size(); ++position)
            m_rowOf[position] = maps[windowOf(static_cast<int>(position))][m_rowOf[position]];
        const std::map<int, int> after = numbers();
        std::vector<int> map(merged.size());
        for (const auto& [number, position] : merged)
            map[number] = after.at(position);
        return map;
    }

    void run(const OracleBlocks& blocks, int number, size_t first, size_t end, bool padded) {
        Tokens all;
        const int own = blocks.positions(number);
        const auto angle = [&](int position) {
            const bool ofImage = own == m_config.grid.area() && (!padded || own != m_config.window.area());
            return position < 0 || ofImage ? position : placeOf(position);
        };
        for (size_t w = first; w < end; ++w) {
            all.insert(all.end(), m_special[w].begin(), m_special[w].end());
            for (OracleToken token : m_image[w]) {
                token.position = angle(token.position);
                all.push_back(token);
            }
            for (int y = 0; y < m_config.window.height && padded; ++y) {
                for (int x = 0; x < m_config.window.width; ++x) {
                    const int row = static_cast<int>(w) / m_across * m_config.window.height + y,
                              column = static_cast<int>(w) % m_across * m_config.window.width + x;
                    if (row < m_config.grid.height && column < m_config.grid.width) continue;
                    OracleToken token{std::vector<double>(all[0].value.size(), 0.0),
                                      y * m_config.window.width + x, 0};
                    token.padding = true;
                    all.push_back(token);
                }
            }
        }
        all = blocks.block(number, all);
        auto from = all.begin();
        for (size_t w = first; w < end; ++w) {
            for (OracleToken& token : m_special[w])
                token.value = (from++)->value;
            for (OracleToken& token : m_image[w])
                token.value = (from++)->value;
        }
    }

    const EncoderConfig& m_config;
    int m_across, m_down;
    std::vector<Tokens> m_special, m_image;
    std::vector<int> m_rowOf;  ///< the row of each image token within the window
};

inline WindowedOutput oracleWindows(const EncoderCase& encoder, const cv::Mat& image,
                                    const std::vector<double>& bias = {},
                                    const std::vector<std::vector<int>>* imposed = nullptr) {
    const EncoderConfig& config = encoder.config;
    const OracleBlocks blocks(config, encoder.weights);
    WindowedWalk walk(config, toRows(image), bias);
    WindowedOutput output;
    for (int b = config.firstBlock; b <= config.lastBlock(); ++b) {
        if (std::count(config.schedule.begin(), config.schedule.end(), b) > 0) {
            if (imposed) {
                walk.impose((*imposed)[output.margins.size()]);
                output.margins.push_back(0);
            } else {
                output.margins.emplace_back();
                output.stageMaps.push_back(walk.merge(output.margins.back()));
            }
        }
        walk.block(blocks, b);
        const auto tap = std::find(config.taps.begin(), config.taps.end(), b);
        if (tap == config.taps.end()) continue;
        output.taps.push_back(walk.restored(blocks, config.tapNorm[tap - config.taps.begin()] != 0));
    }
    return output;
}

// Like expectOracle of encoder_suite.hpp, for encoders with windows.
inline void expectWindows(const Target& target, const EncoderCase& encoder, const cv::Mat& batch,
                          const Ran& ran, const std::vector<double>& bias = {}) {
    for (int i = 0; i < batch.size[0]; ++i) {
        const ImageReport& report = ran.report.images[i];
        std::vector<std::vector<int>> found;
        for (const Stage& stage : report.stages)
            found.push_back(ids(stage.map));
        ASSERT_EQ(found.size(), encoder.config.schedule.size());
        WindowedOutput expected = oracleWindows(encoder, imageOf(batch, i), bias);
        bool decided = target.decidesAlike;
        for (size_t s = 0; s < found.size() && decided; ++s) {
            decided = expected.margins[s] > 1e-5;
            if (!decided) break;
            EXPECT_EQ(found[s], expected.stageMaps[s]) << "image " << i << " stage " << s;
        }
        if (!decided) expected = oracleWindows(encoder, imageOf(batch, i), bias, &found);
        for (size_t t = 0; t < ran.outputs.size(); ++t) {
            EXPECT_LT(relativeError(imageOf(ran.outputs[t], i), toMatrix(expected.taps[t], batch.size[2])),
                      target.tolerance)
                << "image " << i << " tap " << t;
        }
    }
}

inline EncoderOptions windowed(cv::Size grid, cv::Size window, const std::vector<int>& global,
                               const std::vector<int>& schedule) {
    EncoderOptions o;
    o.grid = grid, o.window = window, o.globalBlocks = global, o.schedule = schedule;
    o.imageTokens = grid.area();
    o.padding = grid.width % window.width != 0 || grid.height % window.height != 0;
    return o;
}

}  // namespace mpm::test
