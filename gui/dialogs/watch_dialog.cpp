#include "gui/dialogs/watch_dialog.hpp"

#include <QDialogButtonBox>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/dialogs/alert_page.hpp"
#include "gui/dialogs/publish_page.hpp"
#include "gui/dialogs/region_page.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

WatchDialog::WatchDialog(const WatchSettings& settings, const QString& source, const QStringList& labels,
                         std::map<QString, QString> open, QWidget* parent)
    : QDialog(parent), m_before(settings), m_source(source), m_tabs(new QTabWidget) {
    setWindowTitle(tr("Watch"));
    const SourceWatch& watch = settings.of(source);
    QStringList regions;
    for (const pipeline::Region& region : watch.regions)
        regions << QString::fromStdString(region.name);
    for (const auto& [named, own] : settings.sources)
        if (!own.name.isEmpty()) open.try_emplace(named, own.name);
    m_alerts = new AlertPage(settings.alerts, regions, labels, open);
    m_regions = new RegionPage(watch, settings.keepsImages, settings.thumbnails);
    m_publish = new PublishPage(settings.mqtt, settings.metrics);
    m_tabs->addTab(m_alerts, tr("Alerts"));
    m_tabs->addTab(m_regions, tr("Regions and privacy"));
    m_tabs->addTab(m_publish, tr("Publishing"));
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_tabs);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    layout->addWidget(buttons);
    resize(640, 460);
    connect(m_regions, &RegionPage::renamed, this, [this](const std::string& before, const std::string& now) {
        const auto hasIt = [&](const auto& entry) {
            const auto& all = entry.second.regions;
            return entry.first != m_source &&
                   std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == before; });
        };
        const bool elsewhere = std::any_of(m_before.sources.begin(), m_before.sources.end(), hasIt);
        m_alerts->renameRegion(before, now, safeName(m_source.toStdString()), !elsewhere);
    });
    connect(m_alerts, &AlertPage::changed, this, &WatchDialog::emitSettings);
    connect(m_regions, &RegionPage::changed, this, &WatchDialog::emitSettings);
    connect(m_publish, &PublishPage::changed, this, &WatchDialog::emitSettings);
    connect(m_publish, &PublishPage::passwordGiven, this, &WatchDialog::passwordGiven);
    const auto onTheImage = [this](auto wanted, auto answer) {
        connect(m_regions, wanted, this, [this, answer] {
            accept();
            emit(this->*answer)();
        });
    };
    onTheImage(&RegionPage::drawRegionWanted, &WatchDialog::drawRegionWanted);
    onTheImage(&RegionPage::drawMaskWanted, &WatchDialog::drawMaskWanted);
    onTheImage(&RegionPage::changeShapesWanted, &WatchDialog::changeShapesWanted);
}

WatchSettings WatchDialog::settings() const {
    WatchSettings settings = m_before;
    settings.alerts = m_alerts->rules();
    settings.sources[m_source] = m_regions->watch();
    settings.keepsImages = m_regions->keepsImages();
    settings.thumbnails = m_regions->thumbnails();
    settings.mqtt = m_publish->mqtt();
    settings.metrics = m_publish->metrics();
    return settings;
}

}  // namespace mpm::gui
