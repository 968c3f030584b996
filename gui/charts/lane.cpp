#include "gui/charts/lane.hpp"

#include <cmath>

#include "gui/text/numbers.hpp"

namespace mpm::gui {

namespace {

using pipeline::Summed;
using Unit = Curve::Unit;

template <Summed Field>
const Span& meanOf(const TimelineColumn& column) {
    return column.of(Field);
}

}  // namespace

QColor Curve::colourIn(const Theme& theme) const {
    if (themed) return theme.*themed;
    QColor seen = colour;
    constexpr int kLeast = 90;  // least difference from the background in grey levels (0 to 255)
    for (int step = 0; step < 8 && std::abs(qGray(seen.rgb()) - qGray(theme.plot.rgb())) < kLeast; ++step)
        seen = QColor((3 * seen.red() + theme.text.red()) / 4, (3 * seen.green() + theme.text.green()) / 4,
                      (3 * seen.blue() + theme.text.blue()) / 4);
    return seen;
}

QString Curve::text(double value) const {
    switch (unit) {
        case Unit::Percent:
            return Lane::tr("%1 %").arg(readable(value, 1));
        case Unit::Share:
            return Lane::tr("%1 %").arg(readable(100 * value, 1));
        case Unit::Milliseconds:
            return Lane::tr("%1 ms").arg(std::abs(value) < 9.95 ? readable(value, 1) : readable(value, 0));
        case Unit::Frames:
        case Unit::Objects:
            return readable(value, 1);
    }
    return {};
}

Curve tokensCurve() {
    return {Lane::tr("Tokens"), Unit::Percent, 0, &Theme::kept,
            [](const TimelineColumn& column) -> const Span& { return column.kept; }};
}

std::vector<Lane> fieldLanes() {
    return {{QStringLiteral("age"),
             {{Lane::tr("Age of the tokens, in frames"), Unit::Frames, 1, &Theme::kept,
               meanOf<Summed::TokenAge>}}},
            {QStringLiteral("luminance"),
             {{Lane::tr("Luminance"), Unit::Share, 0.1, &Theme::luminance, meanOf<Summed::Luminance>}}},
            {QStringLiteral("latency"),
             {{Lane::tr("Latency"), Unit::Milliseconds, 5, &Theme::latency, meanOf<Summed::Latency>},
              {Lane::tr("Time saved"), Unit::Milliseconds, 5, &Theme::saved, meanOf<Summed::SavedMs>}}}};
}

Lane quantityLane(const QString& key, int index, const QString& name, const QColor& colour, bool objects) {
    Curve curve{name, objects ? Unit::Objects : Unit::Share, objects ? 1 : 0.001, nullptr};
    curve.of = [at = static_cast<std::size_t>(index)](const TimelineColumn& column) -> const Span& {
        static const Span none;
        return at < column.quantities.size() ? column.quantities[at] : none;
    };
    curve.colour = colour;
    curve.quantity = true;
    return {key, {curve}};
}

}  // namespace mpm::gui
