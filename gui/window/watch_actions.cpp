// The menu of alerts, regions, masks, publishing and recordings.
#include <QMenuBar>

#include "gui/dialogs/recordings_dialog.hpp"
#include "gui/dialogs/watch_dialog.hpp"
#include "gui/window/actions.hpp"
#include "gui/window/main_window.hpp"

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

void showWatch(MainWindow& window, WatchDialog::Page page) {
    QStringList labels;
    const LegendModel& legend = window.models().legend;
    for (int id = 0; id < legend.rowCount(); ++id)
        labels << legend.name(id);
    auto* dialog = new WatchDialog(window.session().services().settings(), window.engine().sourceName(),
                                   labels, &window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setPage(page);
    WatchControl* control = &window.watching();
    QObject::connect(dialog, &WatchDialog::settingsChanged, &window.session(), &Session::setWatch);
    QObject::connect(dialog, &WatchDialog::drawRegionWanted, control, &WatchControl::drawRegion);
    QObject::connect(dialog, &WatchDialog::drawMaskWanted, control, &WatchControl::drawMask);
    QObject::connect(dialog, &WatchDialog::passwordGiven, &window,
                     [&window, dialog](const QString& password) {
                         keepBrokerPassword(window, dialog->settings().mqtt, password);
                     });
    dialog->open();
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
    menu->addSeparator();
    QAction* record = addAction(menu, Actions::tr("Record a &video"), QKeySequence(Qt::Key_R),
                                [control] { control->toggleRecording(); });
    record->setCheckable(true);
    QObject::connect(control, &WatchControl::recordingChanged, record, &QAction::setChecked);
    addAction(menu, Actions::tr("Recordin&gs…"), QKeySequence(Qt::CTRL | Qt::Key_R), [&window] {
        auto* dialog = new RecordingsDialog(window.session().services().videosFolder(), &window);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        QObject::connect(dialog, &RecordingsDialog::playWanted, &window.sources(), &SourceTabs::add);
        dialog->open();
    });
    addAction(menu, Actions::tr("&Clear the list of alerts"), {},
              [&window] { window.models().alerts.clear(); });
}

}  // namespace mpm::gui
