#include "gui/window/options.hpp"

#include <cmath>

#include <QCommandLineParser>
#include <QRegularExpression>

#include <mpm/mpm.hpp>

#include "gui/window/view_area.hpp"

namespace mpm::gui {

namespace {

ParsedOptions wrong(const QString& message) {
    return {{}, 2, QStringLiteral("mpm-monitor: ") + message};
}

void addOptions(QCommandLineParser& parser) {
    const auto add = [&](const char* name, const QString& what, const char* value) {
        parser.addOption({QLatin1String(name), what, QLatin1String(value)});
    };
    add("source", Options::tr("camera index, video, image, folder, URL, gst: and a pipeline, or demo"),
        "SOURCE");
    add("model", Options::tr("ONNX model converted by mpm convert, or default"), "MODEL");
    add("profile", Options::tr("settings and measurements kept under this name"), "NAME");
    add("screenshot", Options::tr("write the window's picture and exit"), "FILE");
    add("after", Options::tr("seconds to wait before that; default 3"), "SECONDS");
    add("view", Options::tr("overview, picture, overlay, merge, split or night"), "VIEW");
    add("theme", Options::tr("system, light or dark"), "THEME");
    add("window", Options::tr("size of the window"), "WIDTHxHEIGHT");
    parser.addOption({{QStringLiteral("h"), QStringLiteral("help")}, Options::tr("this text")});
    parser.addOption({{QStringLiteral("v"), QStringLiteral("version")}, Options::tr("the version")});
}

bool isView(const QString& key) {
    for (int mode = 0; mode < ViewArea::Modes; ++mode)
        if (ViewArea::modeKey(ViewArea::Mode(mode)) == key) return true;
    return false;
}

}  // namespace

ParsedOptions parseOptions(const QStringList& arguments) {
    QCommandLineParser parser;
    parser.setApplicationDescription(
        Options::tr("Watches a fixed scene and shows what token merging does, day and night."));
    addOptions(parser);
    if (!parser.parse(arguments)) return wrong(parser.errorText() + Options::tr(" See --help."));
    if (parser.isSet(QStringLiteral("help"))) return {{}, 0, parser.helpText()};
    if (parser.isSet(QStringLiteral("version")))
        return {{}, 0, QStringLiteral("mpm-monitor %1").arg(QLatin1String(mpm::version()))};
    if (!parser.positionalArguments().isEmpty())
        return wrong(Options::tr("unexpected '%1'; a source is named with --source. See --help.")
                         .arg(parser.positionalArguments().first()));
    Options options;
    const auto value = [&](const char* name) { return parser.value(QLatin1String(name)); };
    if (parser.isSet(QStringLiteral("source"))) options.source = value("source");
    if (parser.isSet(QStringLiteral("model"))) options.model = value("model");
    if (parser.isSet(QStringLiteral("profile"))) options.profile = value("profile");
    options.screenshot = value("screenshot");
    options.view = value("view");
    options.theme = value("theme");
    // A profile is a file name too.
    static const QRegularExpression plain(QStringLiteral("^[\\w .-]{1,64}$"),
                                          QRegularExpression::UseUnicodePropertiesOption);
    if (!plain.match(options.profile).hasMatch() || options.profile.startsWith(QLatin1Char('.')))
        return wrong(Options::tr("--profile '%1': letters, digits, blanks, dots and dashes only")
                         .arg(options.profile));
    if (parser.isSet(QStringLiteral("after"))) {
        bool ok = false;
        options.after = value("after").toDouble(&ok);
        if (!ok || !std::isfinite(options.after) || options.after < 0 || options.after > 1e6)
            return wrong(Options::tr("--after '%1': expected seconds, 0 or more").arg(value("after")));
    }
    if (!options.view.isEmpty() && !isView(options.view))
        return wrong(Options::tr("--view '%1': expected overview, picture, overlay, merge, split or night")
                         .arg(options.view));
    if (!options.theme.isEmpty() &&
        !QStringList{QStringLiteral("system"), QStringLiteral("light"), QStringLiteral("dark")}.contains(
            options.theme))
        return wrong(Options::tr("--theme '%1': expected system, light or dark").arg(options.theme));
    if (parser.isSet(QStringLiteral("window"))) {
        static const QRegularExpression form(QStringLiteral("^(\\d{3,5})x(\\d{3,5})$"));
        const auto match = form.match(value("window"));
        if (!match.hasMatch())
            return wrong(Options::tr("--window '%1': expected WIDTHxHEIGHT").arg(value("window")));
        options.size = QSize(match.captured(1).toInt(), match.captured(2).toInt());
    }
    return {options, -1, {}};
}

}  // namespace mpm::gui
