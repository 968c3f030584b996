#include "gui/dialogs/questions.hpp"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QInputDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>

#include <mpm/mpm.hpp>

namespace mpm::gui {

void askForFile(QWidget& window, const QString& title, const QString& filter,
                const std::function<void(QString)>& then, const QString& suggestion) {
    const bool save = !suggestion.isEmpty();
    auto* dialog = new QFileDialog(&window, title, {}, filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(save ? QFileDialog::AcceptSave : QFileDialog::AcceptOpen);
    dialog->setFileMode(save ? QFileDialog::AnyFile : QFileDialog::ExistingFile);
    if (save) {
        dialog->setDefaultSuffix(QFileInfo(suggestion).suffix());
        dialog->selectFile(suggestion);
    }
    QObject::connect(dialog, &QFileDialog::fileSelected, &window, then);
    dialog->open();
}

void askForName(QWidget& window, const QString& title, const QString& present, const QString& hint,
                const std::function<QString(const QString& text)>& problem,
                const std::function<void(const QString& text)>& then) {
    auto* dialog = new QInputDialog(&window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    dialog->setTextValue(present);
    dialog->setLabelText(title);
    dialog->resize(420, dialog->sizeHint().height());
    const auto check = [dialog, title, problem](const QString& text) {
        const QString found = problem(text.trimmed());
        dialog->setLabelText(found.isEmpty() ? title : found);
        dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->setEnabled(found.isEmpty());
    };
    QObject::connect(dialog, &QInputDialog::textValueChanged, dialog, check);
    QObject::connect(dialog, &QInputDialog::textValueSelected, &window,
                     [then](const QString& text) { then(text.trimmed()); });
    dialog->open();
    dialog->findChild<QLineEdit*>()->setPlaceholderText(hint);
    check(present);
}

void askForInterval(QWidget& window, double seconds, const std::function<void(double)>& then) {
    auto* dialog = new QInputDialog(&window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setInputMode(QInputDialog::DoubleInput);
    dialog->setLabelText(Questions::tr("Seconds between two analysed frames; 0: every frame"));
    dialog->setDoubleRange(0, 86'400);
    dialog->setDoubleValue(seconds);
    QObject::connect(dialog, &QInputDialog::doubleValueSelected, &window, then);
    dialog->open();
}

void showAbout(QWidget& window) {
    auto* box = new QMessageBox(  // own words
        QMessageBox::NoIcon, Questions::tr("About MPM Monitor"),
        Questions::tr(
            "<h3>MPM Monitor %1</h3><p>Watches a fixed scene and shows the effect of Mutual Pair "
            "Merging on a vision transformer, by day and by night.</p><p>Apache License 2.0. Uses Qt %2 "
            "(LGPL 3), OpenCV (Apache 2.0), SQLite (public domain), mosquitto (EPL 2.0), prometheus-cpp "
            "(MIT) and QtKeychain (BSD).</p>")
            .arg(QLatin1String(mpm::version()), QLatin1String(qVersion())),
        QMessageBox::Ok, &window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

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

}  // namespace mpm::gui
