#include "gui/session/options.hpp"

#include <array>
#include <cmath>

#include <QCommandLineParser>
#include <QRegularExpression>

#include <mpm/mpm.hpp>

#include "gui/session/profile.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

ParsedOptions wrong(const QString& message) {
    return {{}, 2, QStringLiteral("mpm-monitor: ") + safeText(message)};  // the message may quote any text
}

void addOptions(QCommandLineParser& parser, const QStringList& views) {
    const auto add = [&](const char* name, const QString& text, const char* value) {
        parser.addOption({QLatin1String(name), text, QLatin1String(value)});
    };
    add("source", Options::tr("camera index, video, image, folder, URL, gst: and a pipeline, or demo"),
        "SOURCE");
    add("model", Options::tr("ONNX model converted by mpm convert, or default"), "MODEL");
    add("profile", Options::tr("settings and measurements kept under this name"), "NAME");
    add("day-cycle", Options::tr("demo: frames in which a whole day passes (default: four minutes)"), "N");
    add("night", Options::tr("simulated night: luminance, photons, deviation"), "L,P,S");
    add("screenshot", Options::tr("write an image of the window and exit"), "FILE");
    add("after", Options::tr("seconds to wait before that (default 3), or to run without a window"),
        "SECONDS");
    parser.addOption(
        {QStringLiteral("headless"),
         Options::tr("no window and no display: measure, store, alert and publish as set in the profile")});
    add("view", Options::tr("one of: %1").arg(views.join(QStringLiteral(", "))), "VIEW");
    add("theme", Options::tr("system, light or dark"), "THEME");
    add("window", Options::tr("size of the window"), "WIDTHxHEIGHT");
    parser.addOption({{QStringLiteral("h"), QStringLiteral("help")}, Options::tr("this text")});
    parser.addOption({{QStringLiteral("v"), QStringLiteral("version")}, Options::tr("the version")});
}

/// Returns the first error in the text options; empty if there is none.
QString checkTexts(const Options& options, const QStringList& views) {
    const QStringList themes{QStringLiteral("system"), QStringLiteral("light"), QStringLiteral("dark")};
    if (!isProfileName(options.profile))
        return Options::tr("--profile '%1': letters, digits, blanks, dots and dashes only")
            .arg(options.profile);
    if (options.headless && !options.screenshot.isEmpty())
        return Options::tr("--screenshot needs the window that --headless leaves out");
    if (options.afterGiven && !options.headless && options.screenshot.isEmpty())
        return Options::tr("--after needs --screenshot or --headless");
    if (!options.view.isEmpty() && !views.contains(options.view))
        return Options::tr("--view '%1': expected one of: %2")
            .arg(options.view, views.join(QStringLiteral(", ")));
    if (!options.theme.isEmpty() && !themes.contains(options.theme))
        return Options::tr("--theme '%1': expected system, light or dark").arg(options.theme);
    return {};
}

/// Reads the options with numbers. Returns the first error; empty if there is none.
QString readNumbers(const QCommandLineParser& parser, Options& options) {
    const QString after = parser.value(QStringLiteral("after")),
                  window = parser.value(QStringLiteral("window")),
                  cycle = parser.value(QStringLiteral("day-cycle"));
    bool ok = true;
    if (!after.isEmpty()) options.after = after.toDouble(&ok);
    if (!ok || !std::isfinite(options.after) || options.after < 0 || options.after > 1e6)
        return Options::tr("--after '%1': expected seconds, 0 or more").arg(after);
    if (!cycle.isEmpty()) options.dayCycle = cycle.toInt(&ok);
    if (!ok || (!cycle.isEmpty() && options.dayCycle < 2))
        return Options::tr("--day-cycle '%1': expected frames, 2 or more").arg(cycle);
    if (window.isEmpty()) return {};
    static const QRegularExpression form(QStringLiteral("\\A(\\d{3,5})x(\\d{3,5})\\z"));
    const auto match = form.match(window);
    if (!match.hasMatch()) return Options::tr("--window '%1': expected WIDTHxHEIGHT").arg(window);
    options.size = QSize(match.captured(1).toInt(), match.captured(2).toInt());
    return {};
}

QString readNight(const QCommandLineParser& parser, Options& options) {
    if (!parser.isSet(QStringLiteral("night"))) return {};
    const QString text = parser.value(QStringLiteral("night"));
    const QStringList parts = text.split(QLatin1Char(','));
    std::array<double, 3> values{};
    bool ok = parts.size() == 3;
    for (int i = 0; ok && i < 3; ++i) {
        values[i] = parts[i].toDouble(&ok);
        ok = ok && values[i] >= 0 && values[i] <= (i == 1 ? 1e6 : 1);
    }
    if (!ok || values[1] == 0)
        return Options::tr("--night '%1': expected L,P,S, as 0.35,250,0.01; L and S of 0 to 1, P above 0")
            .arg(text);
    options.night = street::NightParameters{values[0], values[1], values[2]};
    return {};
}

}  // namespace

ParsedOptions parseOptions(const QStringList& arguments, const QStringList& views) {
    QCommandLineParser parser;
    parser.setApplicationDescription(
        Options::tr("Watches a fixed scene and shows the effect of token merging, day and night."));
    addOptions(parser, views);
    if (!parser.parse(arguments)) return wrong(parser.errorText() + Options::tr(" See --help."));
    if (parser.isSet(QStringLiteral("help"))) {
        // Qt takes the program's name from the application, which does not exist yet.
        QString help = parser.helpText();
        return {{}, 0, help.replace(QLatin1String("<executable_name>"), QLatin1String("mpm-monitor"))};
    }
    if (parser.isSet(QStringLiteral("version")))
        return {{}, 0, QStringLiteral("mpm-monitor %1").arg(QLatin1String(mpm::version()))};
    if (!parser.positionalArguments().isEmpty())
        return wrong(Options::tr("unexpected '%1'; a source is named with --source. See --help.")
                         .arg(parser.positionalArguments().first()));
    Options options;
    if (parser.isSet(QStringLiteral("source"))) options.source = parser.value(QStringLiteral("source"));
    if (parser.isSet(QStringLiteral("model"))) options.model = parser.value(QStringLiteral("model"));
    if (parser.isSet(QStringLiteral("profile"))) options.profile = parser.value(QStringLiteral("profile"));
    options.headless = parser.isSet(QStringLiteral("headless"));
    options.afterGiven = parser.isSet(QStringLiteral("after"));
    if (parser.isSet(QStringLiteral("screenshot")) && parser.value(QStringLiteral("screenshot")).isEmpty())
        return wrong(Options::tr("--screenshot '': expected a file"));
    options.screenshot = parser.value(QStringLiteral("screenshot"));
    options.view = parser.value(QStringLiteral("view"));
    options.theme = parser.value(QStringLiteral("theme"));
    QString problem = checkTexts(options, views);
    if (problem.isEmpty()) problem = readNumbers(parser, options);
    if (problem.isEmpty()) problem = readNight(parser, options);
    return problem.isEmpty() ? ParsedOptions{options, -1, {}} : wrong(problem);
}

}  // namespace mpm::gui
