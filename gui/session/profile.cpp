#include "gui/session/profile.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <QDir>
#include <QFileInfo>
#include <QLockFile>
#include <QRegularExpression>
#include <QStandardPaths>
#include <opencv2/core.hpp>

#include "base/pending_file.hpp"
#include "base/private_files.hpp"
#include "base/read_file.hpp"
#include "gui/text/numbers.hpp"
#include "pipeline/source/address.hpp"

namespace mpm::gui {

namespace {

/// Returns strictly increasing blocks. A file edited by hand may have commas and any order.
std::vector<int> scheduleFrom(const QStringList& parts) {
    std::set<int> blocks;
    for (const QString& part : parts.join(QLatin1Char(' ')).split(QLatin1Char(' '))) {
        bool ok = false;
        const int block = part.toInt(&ok);
        if (ok && block >= 0) blocks.insert(block);
    }
    return {blocks.begin(), blocks.end()};
}

/// Limits a number, because the file may contain any number.
double within(double least, double most, double read, double otherwise) {
    return std::isfinite(read) ? std::clamp(read, least, most) : otherwise;
}

/// Applies the limits of --night. Without photons there would be no image.
street::NightParameters valid(const street::NightParameters& read) {
    const street::NightParameters otherwise;
    return {within(0, 1, read.luminance, otherwise.luminance),
            within(1e-3, 1e6, read.photons, otherwise.photons),
            within(0, 1, read.deviation, otherwise.deviation)};
}

/// Removes other users' permissions, which files of earlier versions may have. Returns `path`.
QString tightened(const QString& path) {
    tightenOwn(QFileInfo(path).absolutePath().toStdString());
    tightenOwn(path.toStdString());
    return path;
}

QString configPath(const QString& name, const char* ending) {
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation);
    return folder + QStringLiteral("/mpm/monitor/") + name + QLatin1String(ending);
}

QString storePathOf(const QString& name) {
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation);
    return folder + QStringLiteral("/mpm/monitor/") + name + QStringLiteral(".sqlite");
}

constexpr std::chrono::milliseconds kLongestInterval = std::chrono::hours(24);
const QString kClassNames = QStringLiteral("class_names/");

/// Returns a key for a model. The key is valid in the settings file, whatever characters the name contains.
QString keyOf(const QString& model) {
    return QString::fromLatin1(model.toUtf8().toHex());
}

/// Calls visit(key, number) for each number of a rule, double or int.
template <typename Rule, typename Visit>
void forEachNumber(Rule& rule, const Visit& visit) {
    visit("dark", rule.dark);
    visit("bright", rule.bright);
    visit("grey", rule.grey);
    visit("coloured", rule.coloured);
    visit("day_from", rule.dayFrom);
    visit("night_from", rule.nightFrom);
    visit("latitude", rule.latitude);
    visit("longitude", rule.longitude);
    visit("elevation", rule.elevation);
}

/// Calls visit(key, value) for each value that is stored without a conversion.
template <typename State, typename Visit>
void forEachValue(State& state, const Visit& visit) {
    visit("model", state.model);
    visit("reuse", state.request.reuse);
    visit("night/luminance", state.request.night.luminance);
    visit("night/photons", state.request.night.photons);
    visit("night/deviation", state.request.night.deviation);
    visit("compared_hours", state.comparedHours);
    visit("opacity", state.opacity);
    visit("outlines", state.outlines);
    visit("confidence", state.confidence);
    visit("safe_palette", state.safePalette);
    visit("view", state.view);
    visit("theme", state.theme);
    visit("window/geometry", state.geometry);
    visit("window/side", state.sideSplit);
    visit("window/panel", state.sidePanel);
    visit("window/guide_dismissed", state.guideDismissed);
    visit("window/time", state.timeSplit);
    visit("hidden", state.hiddenClasses);
    visit("folded", state.foldedSections);
    visit("lanes", state.lanes);
    visit("recent_models", state.recentModels);
    visit("recent_sources", state.recentSources);
}

std::optional<pipeline::DayNightRule> ruleFrom(const QSettings& s) {
    if (!s.contains(QStringLiteral("daynight/by"))) return std::nullopt;
    pipeline::DayNightRule rule;
    // Limits numbers to a range that all types here can represent.
    const auto number = [&s](const char* key, double otherwise) {
        const double read = s.value(QStringLiteral("daynight/") + QLatin1String(key), otherwise).toDouble();
        return within(-1e9, 1e9, read, otherwise);
    };
    rule.by = static_cast<pipeline::DayNightRule::By>(std::clamp(int(number("by", 0)), 0, 4));
    rule.hold = std::chrono::seconds(qint64(number("hold", double(rule.hold.count()))));
    forEachNumber(rule, [&](const char* key, auto& value) {
        value = static_cast<std::decay_t<decltype(value)>>(number(key, value));
    });
    rule.hand = number("hand", 0) > 0 ? pipeline::Phase::Night : pipeline::Phase::Day;
    try {
        pipeline::DayNight check(rule);  // throws if an edited file has an invalid rule
    } catch (const cv::Exception&) {
        return std::nullopt;
    }
    return rule;
}

void addRule(QVariantMap& values, const pipeline::DayNightRule& rule) {
    const auto set = [&values](const char* key, double value) {
        values[QStringLiteral("daynight/") + QLatin1String(key)] = value;
    };
    set("by", double(int(rule.by)));
    set("hold", double(rule.hold.count()));
    forEachNumber(rule, set);
    set("hand", rule.hand == pipeline::Phase::Night ? 1 : 0);
}

QVariantMap valuesOf(const ProfileState& state) {
    QVariantMap values;
    const auto set = [&values](const char* key, const QVariant& value) {
        values[QLatin1String(key)] = value;
    };
    if (!pipeline::Address(state.source.toStdString()).hasSecrets()) set("source", state.source);
    forEachValue(state, set);
    if (!state.request.ownSchedule) set("schedule", joined(state.request.schedule, QStringLiteral(" ")));
    set("interval", qlonglong(state.request.interval.count()));
    if (state.rule) addRule(values, *state.rule);
    set("map_colours", int(state.mapColours));
    for (const auto& [model, names] : state.classNames)
        set(qPrintable(kClassNames + keyOf(model)), QStringList{model} + names);
    return values;
}

constexpr std::uint64_t kMostBytes = 16 << 20;

/// Compares values as text, because numbers are read back as text.
bool isSame(const QVariant& one, const QVariant& other) {
    const QString text = one.toString();
    return text == other.toString() && (!text.isEmpty() || one.toStringList() == other.toStringList());
}

bool isSame(const QSettings& one, const QSettings& other) {
    const QStringList names = one.allKeys();
    return names == other.allKeys() && std::all_of(names.begin(), names.end(), [&](const QString& name) {
               return isSame(one.value(name), other.value(name));
           });
}

/// Removes the lock file that QSettings leaves if memory runs out during `sync`. Otherwise, the destructor
/// of QSettings, which writes once more, would wait forever for the lock.
class LockRemover {
public:
    explicit LockRemover(const std::string& settings) : m_lock(settings + ".lock") {}
    LockRemover(const LockRemover&) = delete;
    LockRemover& operator=(const LockRemover&) = delete;
    ~LockRemover() { ::unlink(m_lock.c_str()); }

private:
    const std::string m_lock;
};

}  // namespace

Profile::Profile(const QString& name)
    : m_name(name),
      m_settings(std::make_unique<QSettings>(tightened(configPath(name, ".ini")), QSettings::IniFormat)) {
    tightenOwn(QFileInfo(storePath()).absolutePath().toStdString());
}

QString Profile::storePath() const {
    return storePathOf(m_name);
}

QString Profile::lockPath() const {
    return storePath().chopped(7) + QStringLiteral(".lock");
}

QString Profile::watchPath() const {
    return configPath(m_name, ".watch.json");
}

QString Profile::videosPath() const {
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation);
    return folder + QStringLiteral("/mpm/monitor/") + m_name + QStringLiteral("-videos");
}

ProfileState Profile::load() const {
    ProfileState state;
    const QSettings& s = *m_settings;
    const auto value = [&s](const char* key, const QVariant& otherwise) {
        return s.value(QLatin1String(key), otherwise);
    };
    forEachValue(state, [&](const char* key, auto& kept) {
        kept = value(key, kept).template value<std::decay_t<decltype(kept)>>();
    });
    state.source = value("source", state.source).toString();
    state.request.ownSchedule = !s.contains(QStringLiteral("schedule"));
    if (!state.request.ownSchedule)
        state.request.schedule = scheduleFrom(s.value(QStringLiteral("schedule")).toStringList());
    state.request.interval = std::chrono::milliseconds(
        std::clamp(value("interval", 0).toLongLong(), 0LL, qlonglong(kLongestInterval.count())));
    state.request.night = valid(state.request.night);
    state.rule = ruleFrom(s);
    state.comparedHours = std::clamp(state.comparedHours, 0, 24 * 366);
    state.mapColours = static_cast<pipeline::MergeMapStyle::Colours>(std::clamp(
        value("map_colours", 0).toInt(), 0, static_cast<int>(pipeline::mapColoursNames().size()) - 1));
    state.lanes = state.lanes.mid(0, 100);
    for (const QString& key : s.allKeys()) {
        QStringList names = key.startsWith(kClassNames) ? s.value(key).toStringList() : QStringList();
        if (names.size() > 1) {
            const QString model = names.takeFirst();
            state.classNames[model] = names;
        }
    }
    return state;
}

/// Writes a draft first, and checks a copy of the draft before this copy replaces the file, because QSettings
/// reports success even on a full disk.
bool Profile::save(const ProfileState& state) {
    const QVariantMap values = valuesOf(state);
    if (values == m_saved) return true;
    try {
        makePrivateFolders(QFileInfo(m_settings->fileName()).absolutePath().toStdString());
        PendingFile file(m_settings->fileName().toStdString());
        const ScratchFile draft(file.folder());
        QSettings settings(QString::fromStdString(draft.path()), QSettings::IniFormat);
        const LockRemover lock(draft.path());
        for (const QString& name : m_settings->allKeys())
            settings.setValue(name, m_settings->value(name));
        for (auto at = values.begin(); at != values.end(); ++at)
            settings.setValue(at.key(), at.value());
        settings.sync();
        file.write(readRegularFile(draft.path(), kMostBytes));
        const QSettings written(QString::fromStdString(file.path()), QSettings::IniFormat);
        if (settings.status() != QSettings::NoError || !isSame(settings, written)) return false;
        file.keep();
        m_settings->sync();  // reads the new file
        m_saved = values;
        return true;
    } catch (const cv::Exception&) {
        return false;
    }
}

bool isProfileName(const QString& name) {
    static const QRegularExpression plain(QStringLiteral("\\A[\\w -][\\w .-]{0,63}\\z"),
                                          QRegularExpression::UseUnicodePropertiesOption);
    return plain.match(name).hasMatch();
}

QStringList profileNames() {
    QStringList names;
    const auto add = [&names](const QString& path, const char* ending) {
        const QDir folder = QFileInfo(path).absoluteDir();
        for (const QString& file : folder.entryList({QLatin1Char('*') + QLatin1String(ending)}, QDir::Files))
            names << file.chopped(qstrlen(ending));
    };
    const QString any = QStringLiteral("any");
    for (const char* ending : {".ini", ".watch.json"})
        add(configPath(any, ending), ending);
    add(storePathOf(any), ".sqlite");
    names.removeDuplicates();
    names.removeIf([](const QString& name) { return !isProfileName(name); });
    names.sort(Qt::CaseInsensitive);
    return names;
}

QString deleteProfile(const QString& name) {
    const QString store = storePathOf(name), base = store.chopped(7);
    QLockFile lock(base + QStringLiteral(".lock"));
    lock.setStaleLockTime(0);
    if (QFile::exists(base + QStringLiteral(".lock")) && !lock.tryLock())
        return Profiles::tr("Profile '%1' is in use by another program").arg(name);
    bool gone = QDir(base + QStringLiteral("-thumbnails")).removeRecursively();
    gone = QDir(base + QStringLiteral("-objects")).removeRecursively() && gone;
    QStringList files{configPath(name, ".ini"), configPath(name, ".watch.json"), store};
    const QFileInfo info(store);
    for (const char* beside : {"-wal", "-shm", "-journal", ".damaged-*", ".old-*", ".v*"})
        for (const QString& found :
             info.dir().entryList({info.fileName() + QLatin1String(beside)}, QDir::Files))
            files << info.dir().filePath(found);
    for (const QString& file : std::as_const(files))
        gone = (!QFile::exists(file) || QFile::remove(file)) && gone;
    return gone ? QString() : Profiles::tr("Profile '%1': some files cannot be deleted").arg(name);
}

}  // namespace mpm::gui
