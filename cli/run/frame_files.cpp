#include "cli/run/frame_files.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/row_file.hpp"
#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/options.hpp"
#include "cli/run/object_files.hpp"
#include "pipeline/draw/labels.hpp"
#include "pipeline/draw/merge_map.hpp"
#include "pipeline/draw/text.hpp"
#include "pipeline/segment/names.hpp"

namespace fs = std::filesystem;

namespace mpm::cli {

namespace {

std::string footer(const FrameResult& result) {
    const pipeline::Measurement& m = result.measurement;
    return cv::format("%s%s%s, luminance %.2f     network %.1f ms, merging %.2f ms, %s %s",
                      result.clock.c_str(), result.clock.empty() ? "" : ", ",
                      m.phase == pipeline::Phase::Night ? "night" : "day", m.luminance, m.networkMs,
                      m.mergeMs, pipeline::deviceName(result.segmentation.device).c_str(),
                      pipeline::precisionName(result.segmentation.precision).c_str());
}

std::string tokensText(const pipeline::Measurement& m) {
    std::string text = std::to_string(m.tokensIn);
    for (int tokens : m.stageTokens)
        text += " -> " + std::to_string(tokens);
    return text + " tokens";
}

cv::Mat mergeMapOf(const cv::Mat& image, const pipeline::Segmentation& seg,
                   const pipeline::MergeMapStyle& style) {
    if (seg.windows.empty()) return pipeline::drawMergeMap(image, seg.tokens.map, seg.grid, style);
    cv::Mat whole = image.clone();
    for (const pipeline::SegmentedWindow& window : seg.windows) {
        const cv::Rect seen = window.place & cv::Rect({0, 0}, image.size());
        cv::Mat piece = cv::Mat::zeros(window.place.size(), image.type());
        const cv::Rect corner({0, 0}, seen.size());
        image(seen).copyTo(piece(corner));
        pipeline::drawMergeMap(piece, window.map, window.grid, style)(corner).copyTo(whole(seen));
    }
    return whole;
}

void writePanels(const std::string& stem, const FrameResult& result, const cv::Mat& overlay,
                 const cv::Mat& map) {
    const char* content = result.segmentation.detector         ? "objects"
                          : result.segmentation.labels.empty() ? "features"
                                                               : "classes";
    const std::vector<pipeline::Panel> panels = {
        {"image", result.frame.image}, {content, overlay}, {tokensText(result.measurement), map}};
    writeImage(stem + ".panels.png", pipeline::drawPanels(panels, footer(result)));
}

/// Writes the map after each merge: STEM.map1.png after the first, and so on.
void writeStages(const std::string& stem, const FrameResult& result, const RunDescription& run) {
    cv::Mat map;
    int number = 0;
    for (const mpm::Stage& stage : result.segmentation.tokens.stages) {
        map = map.empty() ? stage.map : mpm::composeMaps(map, stage.map);
        cv::Mat drawn = pipeline::drawMergeMap(result.frame.image, map, result.segmentation.grid, run.map);
        pipeline::drawCaption(drawn, "before block " + std::to_string(stage.block) + ": " +
                                         std::to_string(stage.tokens) + " tokens");
        if (!run.notice.empty()) pipeline::drawCaption(drawn, run.notice, 1);
        writeImage(stem + ".map" + std::to_string(++number) + ".png", drawn);
    }
}

// Writes the map of reuse. If reuse is suspended, draws all tokens as changed, because all were computed.
void writeReuseMap(const std::string& stem, const FrameResult& result) {
    cv::Mat reasons = result.segmentation.tokens.reuse.reasons;
    const cv::Size grid = result.segmentation.grid;
    if (reasons.empty())
        reasons = cv::Mat(1, grid.area(), CV_8U, cv::Scalar(static_cast<int>(ReuseReason::Changed)));
    writeImage(stem + ".reuse.png", pipeline::drawReuseMap(result.frame.image, reasons, grid));
}

const char* stateText(ReuseState state) {
    constexpr const char* kTexts[] = {"off", "full", "partial", "suspended"};
    return kTexts[static_cast<int>(state)];
}

}  // namespace

SaveChoice SaveChoice::parse(const std::string& text) {
    static constexpr std::pair<const char*, bool SaveChoice::*> kWords[] = {
        {"labels", &SaveChoice::labels}, {"overlay", &SaveChoice::overlay},
        {"boxes", &SaveChoice::boxes},   {"tracks", &SaveChoice::tracks},
        {"map", &SaveChoice::map},       {"stages", &SaveChoice::stages},
        {"csv", &SaveChoice::csv},       {"jsonl", &SaveChoice::jsonl},
        {"panels", &SaveChoice::panels}, {"timeline", &SaveChoice::timeline},
        {"reuse", &SaveChoice::reuse}};
    SaveChoice save;
    for (const std::string& word : splitList(text)) {
        const auto* const found = std::find_if(std::begin(kWords), std::end(kWords),
                                               [&](const auto& w) { return word == w.first; });
        if (found == std::end(kWords)) {
            std::string known;
            for (const auto& [name, member] : kWords)
                known += (known.empty() ? "" : ",") + std::string(name);
            throw Error(kWrongUse, "--save: \"" + word + "\" is not known; choose from " + known);
        }
        save.*(found->second) = true;
    }
    return save;
}

cv::Mat overlayOf(const FrameResult& result, const RunDescription& run) {
    const pipeline::Segmentation& seg = result.segmentation;
    cv::Mat overlay;
    if (seg.detector) {
        overlay = result.frame.image;
    } else if (seg.labels.empty()) {
        overlay = pipeline::drawFeatures(result.frame.image, result.featureColours, run.opacity);
    } else {
        pipeline::OverlayStyle style;
        style.opacity = run.opacity;
        overlay = pipeline::drawOverlay(result.frame.image, seg.labels, run.palette, style);
    }
    const std::vector<pipeline::DrawnBox> boxes = drawnBoxes(result, run);
    if (seg.detector || !boxes.empty()) overlay = pipeline::drawBoxes(overlay, boxes, run.opacity);
    if (!run.notice.empty()) pipeline::drawCaption(overlay, run.notice);
    return overlay;
}

void writeImages(const std::string& folder, const FrameResult& result, const RunDescription& run,
                 const SaveChoice& save) {
    const pipeline::Segmentation& seg = result.segmentation;
    const std::string stem = (fs::path(folder) / result.frame.name).string();
    if (save.labels) writeImage(stem + ".labels.png", seg.labels);
    cv::Mat overlay, map;
    if (save.overlay || save.panels) {
        overlay = overlayOf(result, run);
        if (save.overlay) writeImage(stem + ".overlay.png", overlay);
    }
    if (save.map || save.panels) {
        map = mergeMapOf(result.frame.image, seg, run.map);
        if (!run.notice.empty()) pipeline::drawCaption(map, run.notice);
        if (save.map) writeImage(stem + ".map.png", map);
    }
    if (save.stages) writeStages(stem, result, run);
    if (save.reuse) writeReuseMap(stem, result);
    if (save.panels) writePanels(stem, result, overlay, map);
}

TokenTable::TokenTable(std::ostream& out, Form form, const RunDescription& run)
    : m_out(&out), m_form(form), m_run(run) {}

TokenTable::TokenTable(std::string path, Form form, const RunDescription& run)
    : m_path(std::move(path)), m_form(form), m_run(run) {}

/// Adds a row. Creates the file and writes the column names only with the first row, so that a run without
/// rows does not replace an earlier table. The table of a detector has no columns for shares of classes.
void TokenTable::write(std::string row, bool detector) {
    if (!m_begun && m_form == Form::Csv) {
        const std::vector<std::string> names = detector ? std::vector<std::string>() : m_run.labels;
        row = "name," + pipeline::csvHead(m_run.stages, names, {m_run.reuse, false}) + '\n' + row;
    }
    m_begun = true;
    if (m_file) return m_file->add(row);
    if (m_out == nullptr) {
        m_file = std::make_unique<RowFile>(m_path, row);
        return;
    }
    if (!(*m_out << row << std::flush))
        throw Error(kFailed,
                    "standard output: the table of tokens cannot be written; check the free space "
                    "of its target");
}

void TokenTable::add(const FrameResult& result) {
    const pipeline::Measurement& m = result.measurement;
    const bool detector = result.segmentation.detector;
    if (m_form == Form::Csv) {
        const int classes = detector ? 0 : static_cast<int>(m_run.labels.size());
        write(csvField(result.frame.name) + ',' +
                  pipeline::csvLine(m, m_run.stages, classes, {m_run.reuse, false}) + '\n',
              detector);
    } else {
        nlohmann::ordered_json line = {{"name", result.frame.name},
                                       {"time", pipeline::timeText(m.time)},
                                       {"frame", m.frame},
                                       {"phase", m.phase == pipeline::Phase::Night ? "night" : "day"},
                                       {"luminance", m.luminance},
                                       {"tokens_in", m.tokensIn},
                                       {"stage_tokens", m.stageTokens},
                                       {"tokens", result.segmentation.tokens.tokens},
                                       {"ms",
                                        {{"capture", m.captureMs},
                                         {"network", m.networkMs},
                                         {"encoder", m.encoderMs},
                                         {"merge", m.mergeMs},
                                         {"draw", m.drawMs}}},
                                       {"dropped", m.dropped},
                                       {"class_shares", m.classShares}};
        const ReuseReport& reuse = result.segmentation.tokens.reuse;
        if (reuse.state != ReuseState::Off)
            line["reuse"] = {{"state", stateText(reuse.state)}, {"recomputed", reuse.recomputed}};
        write(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n', detector);
    }
}

}  // namespace mpm::cli
