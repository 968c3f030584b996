// A profile: the settings of the monitor, stored under a name.
#pragma once

#include <map>
#include <memory>

#include <QCoreApplication>
#include <QSettings>
#include <QString>

#include "gui/engine/analysis.hpp"
#include "pipeline/draw/merge_map.hpp"

namespace mpm::gui {

struct ProfileState {
    QString source = QStringLiteral("demo");
    QString model = QStringLiteral("default");
    Request request;
    std::optional<pipeline::DayNightRule> rule;  ///< absent: the default of the source
    int comparedHours = 24 * 7;                  ///< span for comparing day and night; 0: all readings
    double opacity = 0.55;
    bool outlines = true;
    bool confidence = false;  ///< class colours fade at pixels with an uncertain class
    pipeline::MergeMapStyle::Colours mapColours = pipeline::MergeMapStyle::Colours::Mean;
    bool sidePanel = true;
    bool guideDismissed = false;
    bool safePalette = false;  ///< class colours for colour-blind people
    QString view = QStringLiteral("overview");
    QString theme = QStringLiteral("system");  ///< system, light or dark
    QByteArray geometry, sideSplit, timeSplit;
    QStringList hiddenClasses, foldedSections;
    QStringList lanes = {QStringLiteral("luminance"), QStringLiteral("latency")};  ///< lanes of the timeline
    std::map<QString, QStringList>
        classNames;             ///< the user's names, by model and class id; empty: the model's name
    QStringList recentModels;   ///< newest first
    QStringList recentSources;  ///< newest first, without passwords
};

class Profile {
public:
    explicit Profile(const QString& name);

    ProfileState load() const;
    /// Writes the file, unless `state` was the last state written. Never writes a password of a source.
    /// Returns false if the file cannot be written; the old file then remains.
    bool save(const ProfileState& state);

    QString name() const { return m_name; }
    QString path() const { return m_settings->fileName(); }
    QString storePath() const;
    QString lockPath() const;
    QString watchPath() const;  ///< file of the WatchSettings
    QString videosPath() const;

private:
    QString m_name;
    QVariantMap m_saved;  // the values that were last written
    std::unique_ptr<QSettings> m_settings;
};

/// The context of the translated texts. The struct is in a header, so that lupdate finds the struct.
struct Profiles {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::Profiles)
};

/// Returns whether a profile may have the name, which is also used as a file name.
bool isProfileName(const QString& name);
/// Returns the names of the profiles that have any file, sorted.
QStringList profileNames();
/// Deletes settings, rules, measurements, thumbnails and images of objects, but not recordings. Returns why
/// the deletion failed; empty on success.
QString deleteProfile(const QString& name);

}  // namespace mpm::gui
