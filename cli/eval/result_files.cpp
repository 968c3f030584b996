#include "cli/eval/options.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/printable.hpp"
#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/table.hpp"
#include "cli/common/terminal.hpp"
#include "pipeline/dataset/coco_files.hpp"
#include "pipeline/dataset/track_files.hpp"

namespace fs = std::filesystem;

namespace mpm::cli {

namespace {

Json figuresJson(const pipeline::CocoFigures& figures) {
    Json json;
    for (size_t i = 0; i < figures.size(); ++i)
        json[pipeline::kCocoFigures[i]] = figures[i];
    return json;
}

Json cocoJson(const EvalOptions& options, const pipeline::CocoTruth& truth,
              const pipeline::CocoScores& scores) {
    Json report = {{"mpm", version()},
                   {"dataset", "coco"},
                   {"annotations", options.annotations},
                   {"results_file", options.results},
                   {"images", truth.images.size()},
                   {"iou_type", options.iou},
                   {"stats", figuresJson(scores.figures)},
                   {"categories", Json::array()}};
    for (const pipeline::CocoCategoryScores& category : scores.categories) {
        Json json = {{"id", category.id}, {"name", truth.categories.at(category.id)}};
        json.update(figuresJson(category.figures));
        json["recall_at_50"] = category.recall50;
        json["precision_at_50"] = category.precision50;
        report["categories"].push_back(json);
    }
    return report;
}

/// Returns a figure as text; "-" if the figure is -1, which means that there is no object to measure.
std::string figureCell(double figure) {
    return fixedCell(figure < 0 ? NAN : figure, 6);
}

std::string cocoTable(const pipeline::CocoTruth& truth, const pipeline::CocoScores& scores) {
    Cells whole = {{"figure", "value"}};
    for (size_t i = 0; i < scores.figures.size(); ++i)
        whole.push_back({pipeline::kCocoFigures[i], figureCell(scores.figures[i])});
    Cells cells = {{"category", "AP", "AP50", "AP75", "AR_100"}};
    for (const pipeline::CocoCategoryScores& one : scores.categories)
        cells.push_back({printable(truth.categories.at(one.id), 40), figureCell(one.figures[0]),
                         figureCell(one.figures[1]), figureCell(one.figures[2]), figureCell(one.figures[8])});
    return markdownTable(whole) + '\n' + markdownTable(cells);
}

int scoreCoco(const EvalOptions& options) {
    const bool masks = options.iou == "segm";
    size_t leftOut = 0;
    const pipeline::CocoTruth truth = pipeline::readCocoTruth(options.annotations, masks);
    const std::vector<pipeline::CocoObject> found =
        pipeline::readCocoResults(options.results, truth, masks, leftOut);
    if (leftOut > 0)
        warn(std::to_string(leftOut) + " detections are of images that " + options.annotations +
             " does not list; they do not count");
    const pipeline::CocoScores scores = pipeline::cocoScores(
        pipeline::cocoMatches(truth.imageIds(), truth.categoryIds(), truth.objects, found),
        truth.categoryIds());
    std::cout << cocoTable(truth, scores);
    if (!options.json.empty()) writeJson(options.json, cocoJson(options, truth, scores));
    return kDone;
}

// ---- tracks ----

struct SequenceFiles {
    std::string name, truth, tracks;
};

struct SequenceScores {
    std::string name;
    int frames = 0;
    pipeline::TrackCounts counts;
};

std::vector<std::string> textFiles(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".txt" && entry.is_regular_file(error))
            names.push_back(entry.path().filename().string());
    if (error) throw Error(kBadInput, printable(folder) + " cannot be listed (" + error.message() + ")");
    std::sort(names.begin(), names.end());
    return names;
}

/// Returns the two files of each sequence. In folders, the two files of a sequence have the same name. If the
/// options name files, there is a single sequence.
std::vector<SequenceFiles> sequencesOf(const EvalOptions& options, bool folders) {
    if (!folders) return {{fs::path(options.results).stem().string(), options.truth, options.results}};
    const std::vector<std::string> truth = textFiles(options.truth), found = textFiles(options.results);
    std::vector<SequenceFiles> files;
    for (const std::string& name : truth) {
        if (!std::binary_search(found.begin(), found.end(), name))
            throw Error(kBadInput, "--results: " + printable(options.results) + " has no " + printable(name) +
                                       "; a sequence without tracks needs an empty file");
        files.push_back({fs::path(name).stem().string(), (fs::path(options.truth) / name).string(),
                         (fs::path(options.results) / name).string()});
    }
    for (const std::string& name : found)
        if (!std::binary_search(truth.begin(), truth.end(), name))
            warn(options.truth + " has no " + name + "; its tracks do not count");
    if (files.empty()) throw Error(kBadInput, "--truth: " + printable(options.truth) + " has no .txt files");
    return files;
}

SequenceScores scoreSequence(const EvalOptions& options, const SequenceFiles& files) {
    const pipeline::TrackFile truth = pipeline::readTracks(files.truth, true);
    const pipeline::TrackFile tracks = pipeline::readTracks(files.tracks, false);
    const int last = std::max(truth.last, tracks.last);
    if (options.frames && last > *options.frames)
        throw Error(kBadInput, "--frames " + std::to_string(*options.frames) + ": " +
                                   printable(truth.last == last ? files.truth : files.tracks) +
                                   " names frame " + std::to_string(last));
    return {files.name, options.frames.value_or(last),
            orError<cv::Exception>(kBadInput, printable(files.tracks) + ": ",
                                   [&] { return pipeline::trackCounts(truth.frames, tracks.frames); })};
}

Json trackFiguresJson(const pipeline::TrackFigures& f) {
    const auto whole = [](const pipeline::HotaCurve& curve) {
        return std::vector<int64_t>(curve.begin(), curve.end());
    };
    return {{"figures",
             {{"HOTA", f.hota},
              {"DetA", f.detA},
              {"AssA", f.assA},
              {"LocA", f.locA},
              {"DetRe", f.detRe},
              {"DetPr", f.detPr},
              {"AssRe", f.assRe},
              {"AssPr", f.assPr},
              {"MOTA", f.mota},
              {"MOTP", f.motp},
              {"IDF1", f.idf1},
              {"IDP", f.idp},
              {"IDR", f.idr}}},
            {"counts",
             {{"IDSW", f.switches},
              {"Frag", f.fragments},
              {"MT", f.mostlyTracked},
              {"PT", f.partlyTracked},
              {"ML", f.mostlyLost},
              {"CLR_TP", f.right},
              {"CLR_FN", f.missed},
              {"CLR_FP", f.wrong},
              {"IDTP", f.idRight},
              {"IDFN", f.idMissed},
              {"IDFP", f.idWrong}}},
            {"per_alpha",
             {{"HOTA", f.hotaAt},
              {"DetA", f.detAAt},
              {"AssA", f.assAAt},
              {"LocA", f.locAAt},
              {"DetRe", f.detReAt},
              {"DetPr", f.detPrAt},
              {"AssRe", f.assReAt},
              {"AssPr", f.assPrAt},
              {"HOTA_TP", whole(f.hotaRight)},
              {"HOTA_FN", whole(f.hotaMissed)},
              {"HOTA_FP", whole(f.hotaWrong)}}}};
}

Json sequenceJson(const SequenceScores& scores) {
    Json json = {{"name", scores.name},
                 {"frames", scores.frames},
                 {"truth_boxes", scores.counts.truthBoxes},
                 {"track_boxes", scores.counts.trackBoxes},
                 {"truth_ids", scores.counts.truthIds},
                 {"track_ids", scores.counts.trackIds}};
    json.update(trackFiguresJson(scores.counts.figures));
    return json;
}

Json motJson(const EvalOptions& options, const std::vector<SequenceScores>& all,
             const pipeline::TrackFigures* combined) {
    Json report = {
        {"mpm", version()}, {"dataset", "mot"}, {"truth", options.truth}, {"results_file", options.results}};
    if (combined == nullptr) {
        report.update(sequenceJson(all[0]));
    } else {
        report["name"] = "combined";
        for (const SequenceScores& one : all)
            report["sequences"].push_back(one.name);
        report.update(trackFiguresJson(*combined));
    }
    for (const SequenceScores& one : all)
        report["results"].push_back(sequenceJson(one));
    if (combined == nullptr) return report;
    report["combined"] = trackFiguresJson(*combined);
    report["results"].push_back({{"name", "combined"}});
    report["results"].back().update(report["combined"]);
    return report;
}

std::vector<std::string> trackCells(const std::string& name, const pipeline::TrackFigures& f) {
    std::vector<std::string> cells = {printable(name, 40)};
    for (const double figure : {f.hota, f.detA, f.assA, f.locA, f.mota, f.motp, f.idf1, f.idp, f.idr})
        cells.push_back(fixedCell(figure, 6));
    for (const int64_t count : {f.switches, f.fragments, f.mostlyTracked, f.partlyTracked, f.mostlyLost})
        cells.push_back(std::to_string(count));
    return cells;
}

int scoreTracks(const EvalOptions& options) {
    const bool folders = fs::is_directory(options.truth);
    if (folders != fs::is_directory(options.results))
        throw Error(kWrongUse, "--truth and --results: name two files or two folders");
    std::vector<SequenceScores> all;
    std::vector<pipeline::TrackCounts> counts;
    for (const SequenceFiles& files : sequencesOf(options, folders)) {
        all.push_back(scoreSequence(options, files));
        counts.push_back(all.back().counts);
    }
    Cells cells = {{"sequence", "HOTA", "DetA", "AssA", "LocA", "MOTA", "MOTP", "IDF1", "IDP", "IDR", "IDSW",
                    "Frag", "MT", "PT", "ML"}};
    for (const SequenceScores& one : all)
        cells.push_back(trackCells(one.name, one.counts.figures));
    const pipeline::TrackFigures combined = pipeline::combinedFigures(counts);
    if (folders) cells.push_back(trackCells("combined", combined));
    std::cout << markdownTable(cells);
    if (!options.json.empty()) writeJson(options.json, motJson(options, all, folders ? &combined : nullptr));
    return kDone;
}

}  // namespace

int scoreFiles(const EvalOptions& options) {
    if (!options.json.empty()) checkWritable(options.json);
    return orError<cv::Exception>(kBadInput, "", [&] {
        return options.request.dataset == "mot" ? scoreTracks(options) : scoreCoco(options);
    });
}

}  // namespace mpm::cli
