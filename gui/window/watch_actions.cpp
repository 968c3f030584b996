// The Watch menu: alerts, regions, masks, publishing and recordings.
#include <QDateTime>
#include <QMenuBar>
#include <QPointer>

#include "gui/dialogs/alert_page.hpp"
#include "gui/dialogs/events_dialog.hpp"
#include "gui/dialogs/publish_page.hpp"
#include "gui/dialogs/recordings_dialog.hpp"
#include "gui/dialogs/watch_dialog.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/services/alert_center.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/text/source_text.hpp"
#include "gui/window/actions.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/player.hpp"

namespace mpm::gui {

namespace {

void keepBrokerPassword(MainWindow& window, const MqttSettings& mqtt, const QString& password) {
    Services& services = window.session().services();
    services.secrets().keep(Services::mqttKey(mqtt), password, [&window, &services](const QString& problem) {
        if (!problem.isEmpty())
            return window.showMessage(Actions::tr("The password is not kept: %1").arg(problem), true);
        window.showMessage(Actions::tr("The password is in the keychain"));
        services.reconnect();
    });
}

/// Shows the current value next to a threshold, and how often the rule would have fired in the last day.
void showPresentValues(MainWindow& window, AlertPage& page) {
    Engine& engine = window.engine();
    QObject::connect(&engine, &Engine::measured, &page,
                     [&page, &engine](const auto& measurement, const AnalysisPtr& analysis) {
                         page.setInput(alertInput(engine.sourceName(), measurement, *analysis->model));
                     });
    QObject::connect(
        &page, &AlertPage::timesWanted, &engine,
        [&engine, page = QPointer(&page)](const pipeline::AlertRule& rule) {
            const ModelFactsPtr facts = engine.network().facts();
            if (!facts) return;
            engine.recorder().ask([=, source = engine.sourceName()](const pipeline::Store& store, auto id) {
                const pipeline::Millis now(QDateTime::currentMSecsSinceEpoch());
                const auto readings = store.measurements(id, now - std::chrono::hours(24), now);
                const int times = timesFired(rule, source, readings, *facts);
                const auto answer = [page, rule, times] {
                    if (page) page->setTimes(rule, times);
                };
                QMetaObject::invokeMethod(QCoreApplication::instance(), answer, Qt::QueuedConnection);
            });
        });
    page.askForTimes();
}

void showConnection(Services& services, PublishPage& page) {
    page.setStatus(services.mqttStatus(), services.mqtt() != nullptr && services.mqtt()->connected());
    QObject::connect(&services, &Services::mqttStatusChanged, &page, &PublishPage::setStatus);
    QObject::connect(&page, &PublishPage::testWanted, &services, &Services::reconnect);
}

void showWatch(MainWindow& window, WatchDialog::Page page) {
    QStringList labels;
    const LegendModel& legend = window.models().legend;
    for (int id = 0; id < legend.rowCount(); ++id)
        labels << legend.name(id);
    std::map<QString, QString> sources;
    for (const auto& engine : window.session().sources().engines())
        sources[engine->sourceName()] = shownTitle(engine->title());
    auto* dialog = new WatchDialog(window.session().services().settings(), window.engine().sourceName(),
                                   labels, sources, &window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setPage(page);
    WatchControl* control = &window.watching();
    showPresentValues(window, *dialog->alerts());
    showConnection(window.session().services(), *dialog->publish());
    QObject::connect(dialog, &WatchDialog::settingsChanged, &window.session(), &Session::setWatch);
    QObject::connect(dialog, &WatchDialog::drawRegionWanted, control, &WatchControl::drawRegion);
    QObject::connect(dialog, &WatchDialog::drawMaskWanted, control, &WatchControl::drawMask);
    QObject::connect(dialog, &WatchDialog::changeShapesWanted, control, &WatchControl::changeShapes);
    QObject::connect(dialog, &WatchDialog::passwordGiven, &window,
                     [&window, dialog](const QString& password) {
                         keepBrokerPassword(window, dialog->settings().mqtt, password);
                     });
    dialog->open();
}

QStringList ruleNames(MainWindow& window) {
    QStringList names;
    for (const pipeline::AlertRule& rule : window.session().services().settings().alerts)
        names << QString::fromStdString(safeName(rule.name));
    return names;
}

/// Reads the stored events and passes the events to `then`, unless `context` was deleted meanwhile.
template <typename Then>
void withEvents(MainWindow& window, QObject* context, Then then) {
    window.engine().recorder().ask([context = QPointer(context), then](const pipeline::Store& store, auto) {
        auto events = std::make_shared<const std::vector<pipeline::StoredEvent>>(
            store.newestEvents(EventsDialog::kMost));
        const auto answer = [context, then, events] {
            if (context) then(*events);
        };
        QMetaObject::invokeMethod(QCoreApplication::instance(), answer, Qt::QueuedConnection);
    });
}

void play(MainWindow& window, const QString& file, const QString& title) {
    auto* player = new Player(file, title, &window);
    player->setAttribute(Qt::WA_DeleteOnClose);
    player->show();
}

void showRecordings(MainWindow& window) {
    std::map<QString, QString> names;
    for (const auto& [source, watch] : window.session().services().settings().sources)
        if (!watch.name.isEmpty()) names[topicWord(source)] = watch.name;
    auto* dialog = new RecordingsDialog(window.session().services().videosFolder(), names, &window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    QObject::connect(dialog, &RecordingsDialog::playWanted, &window,
                     [&window](const QString& file, const QString& rule) { play(window, file, rule); });
    withEvents(window, dialog,
               [dialog, rules = ruleNames(window)](const auto& events) { dialog->setEvents(events, rules); });
    dialog->show();
}

/// Opens a dialog that does not block the window, so that the user can look at images of the past.
void showEvents(MainWindow& window) {
    Services& services = window.session().services();
    const auto image = [&services](const QString& source, qint64 time) {
        return services.imageOf(source, time);
    };
    const auto title = [&services](const QString& source) {
        return shownTitle(services.settings().titleOf(source));
    };
    auto* dialog = new EventsDialog(image, title, ruleNames(window), &window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    auto* again = new QTimer(dialog);  // delays loading, because many events may come together
    again->setSingleShot(true);
    const auto load = [&window, &services, dialog] {
        withEvents(window, dialog, [&services, dialog](const auto& events) {
            dialog->setEvents(events, recordingsIn(services.videosFolder()));
        });
    };
    QObject::connect(again, &QTimer::timeout, dialog, load);
    for (const auto& engine : window.session().sources().engines())
        QObject::connect(engine.get(), &Engine::happened, again, [again] { again->start(1'500); });
    QObject::connect(dialog, &EventsDialog::momentWanted, &window.front(), &FrontSource::showPastOf);
    QObject::connect(dialog, &EventsDialog::playWanted, &window,
                     [&window](const QString& file, const QString& rule) { play(window, file, rule); });
    QObject::connect(dialog, &EventsDialog::removeWanted, &window,
                     [&window, load](const std::vector<std::int64_t>& ids) {
                         window.engine().recorder().removeEvents(ids);
                         window.engine().recorder().loadHistory();
                         load();
                     });
    load();
    dialog->show();
}

}  // namespace

void addWatchMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&Watch"));
    WatchControl* control = &window.watching();
    addAction(menu, Actions::tr("&Alerts…"), QKeySequence(Qt::CTRL | Qt::Key_A),
              [&window] { showWatch(window, WatchDialog::Alerts); });
    addAction(menu, Actions::tr("&Regions and privacy…"), QKeySequence(Qt::CTRL | Qt::Key_G),
              [&window] { showWatch(window, WatchDialog::Regions); });
    addAction(menu, Actions::tr("&Publishing…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P),
              [&window] { showWatch(window, WatchDialog::Publish); });
    menu->addSeparator();
    addAction(menu, Actions::tr("&Draw a region"), QKeySequence(Qt::Key_G),
              [control] { control->drawRegion(); });
    addAction(menu, Actions::tr("Draw a &mask"), QKeySequence(Qt::SHIFT | Qt::Key_G),
              [control] { control->drawMask(); });
    addAction(menu, Actions::tr("&Change regions and masks"), QKeySequence(Qt::Key_E),
              [control] { control->changeShapes(); });
    QAction* follow =
        addAction(menu, Actions::tr("Follow &objects"), QKeySequence(Qt::SHIFT | Qt::Key_O), [] {});
    follow->setCheckable(true);
    QObject::connect(follow, &QAction::triggered, control, &WatchControl::followObjects);
    QObject::connect(control, &WatchControl::objectsFollowed, follow, &QAction::setChecked);
    menu->addSeparator();
    QAction* record = addAction(menu, Actions::tr("Record a &video"), QKeySequence(Qt::Key_R),
                                [control] { control->toggleRecording(); });
    record->setCheckable(true);
    QObject::connect(control, &WatchControl::recordingChanged, record, &QAction::setChecked);
    QObject::connect(control, &WatchControl::recordingChanged, window.header(), &HeaderBar::setRecording);
    QObject::connect(window.header(), &HeaderBar::endRecordingWanted, control,
                     &WatchControl::toggleRecording);
    addAction(menu, Actions::tr("Recordin&gs…"), QKeySequence(Qt::CTRL | Qt::Key_R),
              [&window] { showRecordings(window); });
    addAction(menu, Actions::tr("E&vents…"), QKeySequence(Qt::CTRL | Qt::Key_H),
              [&window] { showEvents(window); });
    addAction(menu, Actions::tr("&Clear the list of alerts"), {},
              [&window] { window.models().alerts.clear(); });
}

}  // namespace mpm::gui
