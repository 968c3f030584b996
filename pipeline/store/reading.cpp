#include "pipeline/store/reading.hpp"

#include <opencv2/core.hpp>

#include "pipeline/store/number_list.hpp"

namespace mpm::pipeline {

namespace {

using When = ReadingField::When;

/// A row of the table. Each method sets a property and returns the row.
struct Row : ReadingField {
    Row(const char* column, Value (*getter)(const Measurement&)) : ReadingField{column, getter} {}

    Row& occurs(When which) { return when = which, *this; }
    Row& counted() { return whole = true, *this; }
    Row& notInCsv() { return csv = false, *this; }
    Row& notExported() { return csv = json = false, *this; }
    Row& published(double absent = NAN) { return mqtt = true, otherwise = absent, *this; }
    Row& summedAs(Summed field, const char* sum, const char* count = nullptr) {
        return summed = {field, sum, count}, *this;
    }
    Row& onPage(const char* metric, const char* help, double scale = 1) {
        return prometheus = {metric, help, scale}, *this;
    }
    Row& announced(const char* id, const char* title, const char* unit) {
        return sensor = {id, title, unit}, *this;
    }
};

template <auto Member>
Row stored(const char* column) {
    Row row(column, [](const Measurement& m) { return ReadingField::Value(m.*Member); });
    using Type = std::decay_t<decltype(std::declval<Measurement>().*Member)>;
    row.set = [](Measurement& m, double value) { m.*Member = listNumber<Type>(value); };
    row.whole = std::is_integral_v<Type>;
    return row;
}

// Qt's lupdate finds the titles by the name of this macro.
#define QT_TRANSLATE_NOOP(context, text) text

std::vector<ReadingField> makeFields() {
    using M = Measurement;
    Row kept("tokens_kept", [](const M& m) { return ReadingField::Value(m.tokensKept()); });
    kept.whole = true;
    return {
        stored<&M::luminance>("luminance")
            .summedAs(Summed::Luminance, "luminance_sum")
            .published()
            .onPage("mpm_luminance", "Median luminance, 0 to 1")
            .announced("luminance", QT_TRANSLATE_NOOP("ReadingField", "Luminance"), "%"),
        stored<&M::tokensIn>("tokens_in")
            .summedAs(Summed::TokensIn, "tokens_in_sum", "tokens_in_count")
            .published()
            .onPage("mpm_tokens_in", "Image tokens of the last image"),
        kept.published()
            .onPage("mpm_tokens_kept", "Tokens left after the last merge")
            .announced("tokens", QT_TRANSLATE_NOOP("ReadingField", "Tokens kept"), "tokens"),
        stored<&M::captureMs>("capture_ms"),
        stored<&M::networkMs>("network_ms")
            .published()
            .announced("network", QT_TRANSLATE_NOOP("ReadingField", "Network time"), "ms"),
        stored<&M::encoderMs>("encoder_ms"),
        stored<&M::mergeMs>("merge_ms"),
        stored<&M::drawMs>("draw_ms"),
        stored<&M::dropped>("dropped"),
        stored<&M::pass>("pass").notInCsv(),
        Row("latency_ms",
            [](const M& m) { return ReadingField::Value(m.captureMs + m.networkMs + m.drawMs); })
            .notExported()
            .summedAs(Summed::Latency, "latency_sum"),
        stored<&M::recomputed>("recomputed")
            .occurs(When::Reuse)
            .published(1)
            .onPage("mpm_tokens_recomputed_share", "Share of tokens computed with reuse, 0 to 1; 1 without")
            .announced("computed", QT_TRANSLATE_NOOP("ReadingField", "Tokens computed"), "%"),
        stored<&M::tokenAge>("token_age")
            .occurs(When::Reuse)
            .summedAs(Summed::TokenAge, "age_sum", "ages")
            .published()
            .onPage("mpm_token_age_frames", "Mean age of the tokens in frames, with reuse"),
        stored<&M::savedMs>("saved_ms")
            .occurs(When::Compared)
            .summedAs(Summed::SavedMs, "saved_sum", "saves")
            .published()
            .onPage("mpm_network_saved_seconds", "Time saved against all tokens, if compared lately", 1e-3)
            .announced("saved", QT_TRANSLATE_NOOP("ReadingField", "Time saved"), "ms"),
        stored<&M::objects>("objects")
            .counted()
            .occurs(When::Followed)
            .summedAs(Summed::Objects, "objects_sum", "objects_count")
            .published()
            .onPage("mpm_objects", "Objects present, if they are followed")
            .announced("objects", QT_TRANSLATE_NOOP("ReadingField", "Objects"), nullptr),
    };
}

}  // namespace

const std::vector<ReadingField>& readingFields() {
    static const std::vector<ReadingField> all = makeFields();
    return all;
}

Measurement measurementOf(const Segmentation& segmentation) {
    Measurement m;
    m.tokensIn = static_cast<int>(segmentation.tokens.map.total());
    for (const mpm::Stage& stage : segmentation.tokens.stages)
        m.stageTokens.push_back(stage.tokens);
    m.networkMs = segmentation.totalMs();
    m.encoderMs = segmentation.encoder.whole;
    m.mergeMs = segmentation.encoder.merge;
    const ReuseReport& reuse = segmentation.tokens.reuse;
    if (reuse.state == ReuseState::Off) return m;
    m.recomputed = reuse.recomputed;
    if (!reuse.ages.empty()) m.tokenAge = cv::mean(reuse.ages)[0];
    return m;
}

}  // namespace mpm::pipeline
