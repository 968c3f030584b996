#include "gui/window/watch_actions.hpp"

#include <QDir>
#include <QFile>
#include <QMenuBar>

#include "gui/dialogs/watch_dialog.hpp"
#include "gui/window/actions.hpp"
#include "gui/window/main_window.hpp"

namespace mpm::gui {

namespace {

void showWatch(MainWindow& window, WatchDialog::Page page) {
    QStringList labels;
    for (int id = 0; id < window.legend().rowCount(); ++id)
        labels << window.legend().name(id);
    auto* dialog =
        new WatchDialog(window.services().settings(), window.engine().sourceName(), labels, &window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setPage(page);
    QObject::connect(dialog, &WatchDialog::settingsChanged, &window, &MainWindow::setWatch);
    QObject::connect(dialog, &WatchDialog::drawRegionWanted, &window, &MainWindow::drawRegion);
    QObject::connect(dialog, &WatchDialog::drawMaskWanted, &window, &MainWindow::drawMask);
    QObject::connect(
        dialog, &WatchDialog::passwordGiven, &window, [&window, dialog](const QString& password) {
            const QString key = Services::mqttKey(dialog->settings().mqtt);
            window.services().secrets().keep(key, password, [&window](const QString& problem) {
                if (!problem.isEmpty())
                    return window.say(Actions::tr("The password is not kept: %1").arg(problem), true);
                window.say(Actions::tr("The password is in the keychain"));
                window.services().reconnect();
            });
        });
    dialog->open();
}

}  // namespace

QStringList cameraNames() {
    QStringList names;
    const QDir devices(QStringLiteral("/sys/class/video4linux"));
    for (const QString& device : devices.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
        QFile file(devices.filePath(device) + QStringLiteral("/name"));
        if (!device.startsWith(QLatin1String("video")) || !file.open(QIODevice::ReadOnly)) continue;
        names << device.mid(5) + QStringLiteral(": ") + QString::fromUtf8(file.readAll()).trimmed();
    }
    return names;
}

void addWatchMenu(MainWindow& window) {
    QMenu* menu = window.menuBar()->addMenu(Actions::tr("&Watch"));
    const auto add = [&](const QString& words, const QKeySequence& keys, auto what) {
        QAction* action = menu->addAction(words, what);
        action->setShortcut(keys);
        return action;
    };
    add(Actions::tr("&Alerts…"), QKeySequence(Qt::CTRL | Qt::Key_A),
        [&window] { showWatch(window, WatchDialog::Alerts); });
    add(Actions::tr("&Regions and privacy…"), QKeySequence(Qt::CTRL | Qt::Key_G),
        [&window] { showWatch(window, WatchDialog::Regions); });
    add(Actions::tr("&Publishing…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P),
        [&window] { showWatch(window, WatchDialog::Publish); });
    menu->addSeparator();
    add(Actions::tr("&Draw a region"), QKeySequence(Qt::Key_G), [&window] { window.drawRegion(); });
    add(Actions::tr("Draw a &mask"), QKeySequence(Qt::SHIFT | Qt::Key_G), [&window] { window.drawMask(); });
    menu->addSeparator();
    QAction* record =
        add(Actions::tr("Record a &video"), QKeySequence(Qt::Key_R), [&window] { window.toggleRecording(); });
    record->setCheckable(true);
    QObject::connect(&window, &MainWindow::recordingChanged, record, &QAction::setChecked);
    add(Actions::tr("&Forget the alerts listed"), {}, [&window] { window.alerts().clear(); });
}

}  // namespace mpm::gui
