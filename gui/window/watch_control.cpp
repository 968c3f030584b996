#include "gui/window/watch_control.hpp"

#include <algorithm>

#include "gui/text/safe_text.hpp"
#include "gui/views/live_view.hpp"
#include "gui/window/front_source.hpp"

namespace mpm::gui {

WatchControl::WatchControl(const Parts& parts, FrontSource* front) : m_parts(parts), m_front(front) {
    Services& services = m_parts.session->services();
    connect(&services, &Services::alerted, this, [this](const AlertNotice& notice) {
        m_parts.models->alerts.add(notice);
        m_parts.views->setCornerAlert(
            tr("Alert %1, %2: %3")
                .arg(notice.time.toString(QStringLiteral("HH:mm:ss")), notice.rule, notice.text));
        emit messagePosted(tr("Alert '%1', %2: %3").arg(notice.rule, notice.source, notice.text), true);
    });
    connect(&services, &Services::recordingChanged, this, [this] { emit recordingChanged(recording()); });
    connect(m_parts.session, &Session::watchChanged, this, [this] {
        m_parts.views->find<LiveView>()->endShapes(false);  // drops a shape in progress
        hideImages();
        m_front->updateRegions();
        sourcesChanged();
    });
}

void WatchControl::start() {
    try {
        m_parts.session->readWatch();
    } catch (const WatchError& error) {
        emit messagePosted(
            tr("%1. Images stay hidden: masks may be missing.").arg(QString::fromUtf8(error.what())), true);
    }
    hideImages();
}

void WatchControl::hideImages() {
    using Hidden = ViewArea::ImagesHidden;
    const Session& session = *m_parts.session;
    const bool shown = m_parts.session->services().settings().keepsImages;
    m_parts.views->setImagesHidden(shown                    ? Hidden::No
                                   : session.watchDamaged() ? Hidden::WatchFileDamaged
                                                            : Hidden::Chosen);
}

bool WatchControl::recording() const {
    return m_parts.session->services().recording(m_front->engine());
}

void WatchControl::toggleRecording() {
    Services& services = m_parts.session->services();
    Engine& engine = m_front->engine();
    if (recording())
        services.stopRecording(engine);
    else if (services.startRecording(engine))
        emit messagePosted(tr("Recording; the same key ends it"));
    else
        emit messagePosted(tr("Measurements only: there is no image to record"), true);
    sourcesChanged();
}

void WatchControl::drawRegion() {
    if (!m_parts.views->entry().has(ViewEntry::ShowsFrame))
        m_parts.views->showView(QStringLiteral("picture"));
    emit messagePosted(tr("Click the corners of the region; Enter or a double click ends, Escape cancels"));
    m_parts.views->find<LiveView>()->drawShape([this](const pipeline::Polygon& shape) {
        WatchSettings watch = m_parts.session->services().settings();
        SourceWatch& source = watch.sources[m_front->engine().sourceName()];
        std::string wanted;
        for (int number = 1; wanted.empty() || source.freeName(wanted) != wanted; ++number)
            wanted = tr("Region %1").arg(number).toStdString();
        source.regions.push_back({wanted, shape});
        const QString name = safeText(wanted);
        m_parts.session->setWatch(watch);
        emit messagePosted(tr("%1 is measured from now on").arg(name));
    });
}

void WatchControl::drawMask() {
    m_parts.views->showView(QStringLiteral("picture"));
    emit messagePosted(tr("Click the corners of the mask; Enter or a double click ends, Escape cancels"));
    m_parts.views->find<LiveView>()->drawShape([this](const pipeline::Polygon& shape) {
        WatchSettings watch = m_parts.session->services().settings();
        watch.sources[m_front->engine().sourceName()].masks.push_back(shape);
        m_parts.session->setWatch(watch);
        emit messagePosted(tr("Masked before the network, the screen and the store"));
    });
}

void WatchControl::changeShapes() {
    const QString source = m_front->engine().sourceName();
    const SourceWatch& before = m_parts.session->services().settings().of(source);
    ImageView::Shapes shapes = before.regions;
    for (const pipeline::Polygon& mask : before.masks)
        shapes.push_back({tr("Mask").toStdString(), mask});
    if (shapes.empty())
        return emit messagePosted(tr("There is no region and no mask yet: G draws a region, Shift+G a mask"));
    m_parts.views->showView(QStringLiteral("picture"));
    const auto regions = std::ptrdiff_t(before.regions.size());
    m_parts.views->find<LiveView>()->changeShapes(shapes, [this, source, regions](const auto& changed) {
        WatchSettings watch = m_parts.session->services().settings();
        SourceWatch& own = watch.sources[source];
        own.regions.assign(changed.begin(), changed.begin() + regions);
        own.masks.clear();
        for (auto mask = changed.begin() + regions; mask != changed.end(); ++mask)
            own.masks.push_back(mask->outline);
        m_parts.session->setWatch(watch);
        emit messagePosted(tr("Regions and masks are changed"));
    });
}

void WatchControl::followObjects(bool on) {
    WatchSettings watch = m_parts.session->services().settings();
    watch.sources[m_front->engine().sourceName()].objects =
        on ? QStringList(QStringLiteral("*")) : QStringList();
    m_parts.session->setWatch(watch);
    emit messagePosted(on ? tr("Objects are followed; Regions and privacy chooses their classes")
                          : tr("Objects are not followed any more"));
}

void WatchControl::sourcesChanged() {
    updateDrawn();
    emit objectsFollowed(!m_front->engine().request().objects.empty());
    emit recordingChanged(recording());
}

void WatchControl::updateDrawn() {
    Services& services = m_parts.session->services();
    const auto& alerts = services.settings().alerts;
    const bool all = m_parts.views->entry().has(ViewEntry::NeedsAllSources) ||
                     std::any_of(alerts.begin(), alerts.end(), [](const auto& rule) { return rule.record; });
    for (const auto& engine : m_parts.session->sources().engines())
        engine->setWatched(all || m_front->is(*engine) || services.recording(*engine));
}

}  // namespace mpm::gui
