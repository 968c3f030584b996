#include "pipeline/measure/eval_summary.hpp"

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

namespace mpm::pipeline {

extern const char* const kPublishedCsv;  ///< published.csv

namespace {

PublishedFigures figuresFrom(const std::string& line) {
    std::istringstream cells(line);
    // The text is part of the program: it has no quoted fields, and the classic locale reads its numbers.
    cells.imbue(std::locale::classic());
    PublishedFigures figures;
    char comma = 0;
    std::getline(cells, figures.dataset, ',');
    cells >> figures.width >> comma >> figures.patch >> comma;
    std::getline(cells, figures.method, ',');
    cells >> figures.miou >> comma >> figures.gflops >> comma >> figures.fps;
    CV_Assert(!cells.fail());
    return figures;
}

std::string methodOf(const EvalRow& row) {
    if (row.method != "mpm") return row.method;
    const bool plain = row.text.rfind("mpm", 0) == 0 && row.text.find('=') == std::string::npos;
    return plain && row.schedule == std::vector<int>{2, 5} ? "mpm:2+5" : "";
}

}  // namespace

const std::vector<PublishedFigures>& publishedFigures() {
    static const std::vector<PublishedFigures> all = [] {
        std::vector<PublishedFigures> figures;
        std::istringstream lines(kPublishedCsv);
        std::string line;
        std::getline(lines, line);  // names of the columns
        while (std::getline(lines, line))
            figures.push_back(figuresFrom(line));
        return figures;
    }();
    return all;
}

std::optional<PublishedFigures> publishedFor(const EvalHead& head, const EvalRow& row) {
    if (row.night || row.tokens.empty()) return std::nullopt;
    const double pixels = double(head.run.size.area());
    const int patch = static_cast<int>(std::lround(std::sqrt(pixels / row.tokens.front())));
    const std::vector<PublishedFigures>& all = publishedFigures();
    const auto found = std::find_if(all.begin(), all.end(), [&](const PublishedFigures& figures) {
        return figures.dataset == head.dataset && figures.width == head.width && figures.patch == patch &&
               figures.method == methodOf(row);
    });
    return found == all.end() ? std::nullopt : std::optional<PublishedFigures>(*found);
}

}  // namespace mpm::pipeline
