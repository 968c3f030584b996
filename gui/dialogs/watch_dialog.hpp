// A dialog for alerts, regions, masks and publishing. Every change applies immediately, without confirmation.
#pragma once

#include <QDialog>
#include <QTabWidget>

#include "gui/services/watch_settings.hpp"

namespace mpm::gui {

class AlertPage;
class PublishPage;
class RegionPage;

class WatchDialog : public QDialog {
    Q_OBJECT
public:
    enum Page { Alerts, Regions, Publish };

    /// `source`: the source of the current tab, whose regions and masks are shown. `labels`: the model's
    /// classes. `open`: the open sources, with their names.
    WatchDialog(const WatchSettings& settings, const QString& source, const QStringList& labels,
                std::map<QString, QString> open, QWidget* parent = nullptr);

    void setPage(Page page) { m_tabs->setCurrentIndex(page); }
    WatchSettings settings() const;
    AlertPage* alerts() const { return m_alerts; }
    RegionPage* regions() const { return m_regions; }
    PublishPage* publish() const { return m_publish; }

signals:
    void settingsChanged(const mpm::gui::WatchSettings& settings);
    /// Emitted if the user wants to draw on the image. The dialog closes first.
    void drawRegionWanted();
    void drawMaskWanted();
    void changeShapesWanted();
    /// Emitted if the user types a password, which belongs in the keychain.
    void passwordGiven(const QString& password);

private:
    void emitSettings() { emit settingsChanged(settings()); }

    WatchSettings m_before;  // keeps the settings that no page edits
    QString m_source;
    QTabWidget* m_tabs;
    AlertPage* m_alerts;
    RegionPage* m_regions;
    PublishPage* m_publish;
};

}  // namespace mpm::gui
