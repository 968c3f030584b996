// What comes back at the next start, kept under a name.
#pragma once

#include <memory>

#include <QSettings>
#include <QString>

#include "gui/engine/analysis.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

struct ProfileState {
    QString source = QStringLiteral("demo");
    QString model = QStringLiteral("default");
    Request request;
    bool ownSchedule = true;                     ///< nobody chose a schedule: the model's own counts
    std::optional<pipeline::DayNightRule> rule;  ///< absent: what suits the source
    double opacity = 0.55;
    bool outlines = true;
    bool sidePanel = true;
    bool safePalette = false;  ///< colours for classes that colour-blind people tell apart
    QString view = QStringLiteral("overview");
    Appearance appearance = Appearance::System;
    QByteArray geometry, sideSplit, timeSplit;
    QStringList hiddenClasses, foldedSections;
};

class Profile {
public:
    explicit Profile(const QString& name);

    ProfileState load() const;
    /// A source with a password in it is not written: the settings file is no place for one.
    bool save(const ProfileState& state);  ///< false: what was there before is there still

    QString name() const { return m_name; }
    QString storePath() const;
    QString watchPath() const;   ///< of the WatchSettings
    QString videosPath() const;  ///< folder of recordings

private:
    static void write(QSettings& settings, const ProfileState& state);
    QString m_name;
    std::unique_ptr<QSettings> m_settings;
};

}  // namespace mpm::gui
