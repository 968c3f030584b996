// Integration with the desktop: French texts, names for screen readers, desktop files, the systemd unit.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QAccessible>
#include <QComboBox>
#include <QLabel>
#include <QLocale>
#include <QMenuBar>
#include <QProcess>
#include <QScrollArea>
#include <QToolButton>
#include <QTranslator>

#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/text/translations.hpp"
#include "gui/views/image_view.hpp"
#include "gui/window/actions.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class DesktopTest : public QObject {
    Q_OBJECT
private slots:
    void everythingHasANameForScreenReaders();
    void everyMenuEntryIsReachedByKeyboard();
    void desktopFilesAreValid();
    void unitStartsTheProgramThatIsInstalled();
    void unitsAreUnderstoodAndHardened();
    void translationIsThere();
    void windowSpeaksFrench();  // last, because the translator stays
};

void DesktopTest::everythingHasANameForScreenReaders() {
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    int controls = 0;
    for (QWidget* widget : is.window->findChildren<QWidget*>()) {
        const bool control = qobject_cast<QAbstractButton*>(widget) ||
                             qobject_cast<QAbstractSlider*>(widget) || qobject_cast<QComboBox*>(widget) ||
                             qobject_cast<QAbstractSpinBox*>(widget) || qobject_cast<ImageView*>(widget) ||
                             qobject_cast<QAbstractItemView*>(widget);
        if (!control || widget->focusPolicy() == Qt::NoFocus || !widget->isVisible()) continue;
        QAccessibleInterface* said = QAccessible::queryAccessibleInterface(widget);
        QVERIFY(said != nullptr);
        ++controls;
        QVERIFY2(!said->text(QAccessible::Name).isEmpty(), widget->metaObject()->className());
    }
    QVERIFY2(controls > 20, qPrintable(QString::number(controls)));
}

void DesktopTest::everyMenuEntryIsReachedByKeyboard() {
    test::WindowFixture is;
    is.open();
    for (const QAction* menu : is.window->menuBar()->actions()) {
        QVERIFY2(menu->text().contains(QLatin1Char('&')), qPrintable(menu->text()));
        for (const QAction* action : menu->menu()->actions())
            QVERIFY2(action->isSeparator() || action->isEnabled(), qPrintable(action->text()));
    }
}

void DesktopTest::desktopFilesAreValid() {
    const QString assets = QStringLiteral(MPM_SOURCE_DIR "/assets/desktop/");
    const test::Outcome entry =
        test::run(QStringLiteral("desktop-file-validate"), {assets + QStringLiteral("mpm-monitor.desktop")});
    QVERIFY2(entry.status == 0, qPrintable(entry.out + entry.err));
    // The test reads English messages of appstreamcli, so the user's language must not apply.
    const test::Outcome stream =
        test::run(QStringLiteral("env"), {QStringLiteral("LC_ALL=C"), QStringLiteral("appstreamcli"),
                                          QStringLiteral("validate"), QStringLiteral("--no-net"),
                                          assets + QStringLiteral("org.mpm_project.Monitor.metainfo.xml")});
    // Later versions of appstreamcli warn about missing fields that need a web site, so only errors count.
    const QString said = stream.out + stream.err;
    QVERIFY2(stream.status == 0 || !said.contains(QStringLiteral("E: ")), qPrintable(said));
    QVERIFY2(said.contains(QStringLiteral("alidation")), qPrintable(said));
}

namespace {

/// Installs the monitor as `cmake --install --prefix` does. If `root` is not empty, installs below `root`
/// instead of /, as a package build does.
void install(const QString& prefix, const QString& root = {}) {
    const test::Outcome done =
        test::run(QStringLiteral("env"), {QStringLiteral("DESTDIR=") + root, QStringLiteral(MPM_CMAKE),
                                          QStringLiteral("-DCMAKE_INSTALL_PREFIX=") + prefix,
                                          QStringLiteral("-DCMAKE_INSTALL_COMPONENT=monitor"),
                                          QStringLiteral("-P"), QStringLiteral(MPM_INSTALL_SCRIPT)});
    QVERIFY2(done.status == 0, qPrintable(done.out + done.err));
}

/// Returns the words after ExecStart= in the unit for `manager` (the system's or the user's systemd).
QStringList startOf(const QString& prefix, const QString& manager) {
    QFile unit(QStringLiteral("%1/lib/systemd/%2/mpm-monitor@.service").arg(prefix, manager));
    if (!unit.open(QIODevice::ReadOnly)) return {};
    const QString text = QString::fromUtf8(unit.readAll());
    const qsizetype at = text.indexOf(QLatin1String("\nExecStart="));
    return text.mid(at + 11, text.indexOf(QLatin1Char('\n'), at + 1) - at - 11).split(QLatin1Char(' '));
}

const QStringList kManagers{QStringLiteral("user"), QStringLiteral("system")};

}  // namespace

void DesktopTest::unitStartsTheProgramThatIsInstalled() {
    const QTemporaryDir prefix, root;
    install(prefix.path());
    install(QStringLiteral("/usr"), root.path());
    const QStringList rest{QStringLiteral("--headless"), QStringLiteral("--profile"), QStringLiteral("%i")};
    for (const QString& manager : kManagers) {
        const QStringList words = startOf(prefix.path(), manager);
        QCOMPARE(words.value(0), prefix.filePath(QStringLiteral("bin/mpm-monitor")));
        QVERIFY(QFileInfo(words.value(0)).isExecutable());
        QCOMPARE(words.mid(1), rest);
        const QStringList packaged = startOf(root.filePath(QStringLiteral("usr")), manager);
        QCOMPARE(packaged.value(0), QStringLiteral("/usr/bin/mpm-monitor"));
        QVERIFY(QFileInfo(root.path() + packaged.value(0)).isExecutable());
    }
}

void DesktopTest::unitsAreUnderstoodAndHardened() {
    const QTemporaryDir prefix;
    install(prefix.path());
    for (const QString& manager : kManagers) {
        const QString unit =
            QStringLiteral("%1/lib/systemd/%2/mpm-monitor@.service").arg(prefix.path(), manager);
        const QString runtime = QStringLiteral("XDG_RUNTIME_DIR=") + prefix.path();
        const test::Outcome verified =
            test::run(QStringLiteral("env"),
                      {runtime, QStringLiteral("systemd-analyze"), QStringLiteral("--") + manager,
                       QStringLiteral("--man=no"), QStringLiteral("verify"), unit});
        // systemd reports a misspelt setting as a warning only, so there must be no output.
        QVERIFY2(verified.status == 0 && verified.out.isEmpty() && verified.err.isEmpty(),
                 qPrintable(verified.out + verified.err));
    }
    for (const QString& manager : kManagers) {
        const test::Outcome rated =
            test::run(QStringLiteral("systemd-analyze"),
                      {QStringLiteral("security"), QStringLiteral("--offline=true"),
                       QStringLiteral("--no-pager"), QStringLiteral("--threshold=24"),
                       QStringLiteral("%1/lib/systemd/%2/mpm-monitor@.service").arg(prefix.path(), manager)});
        QVERIFY2(rated.status == 0, qPrintable(rated.out + rated.err));
        QVERIFY2(rated.out.contains(QStringLiteral("exposure level")), qPrintable(rated.out + rated.err));
    }
}

void DesktopTest::translationIsThere() {
    QFile words(QStringLiteral(MPM_SOURCE_DIR "/assets/translations/mpm-monitor_fr.ts"));
    QVERIFY(words.open(QIODevice::ReadOnly));
    const QByteArray text = words.readAll();
    QVERIFY(text.count("<message>") > 400);
}

void DesktopTest::windowSpeaksFrench() {
    installTranslations(*QCoreApplication::instance(), QLocale(QLocale::French));
    test::WindowFixture is;
    is.open();
    QVERIFY(is.next());
    QCOMPARE(is.window->menuBar()->actions()[0]->text(), QStringLiteral("&Fichier"));
    QCOMPARE(viewTable().at(3).title(), QStringLiteral("Fusion"));
    QCOMPARE(is.window->models().health.index(HealthModel::ProcessorRow).data().toString(),
             QStringLiteral("Processeur"));
    QTest::keyClick(is.window.get(), Qt::Key_F1);
    QStringList said;
    for (const QLabel* label : is.window->findChildren<QLabel*>())
        said << label->text();
    QVERIFY(said.contains(QStringLiteral("Molette")));
    // French texts are longer: the window must still fit a small screen, without cut words.
    QVERIFY2(is.window->minimumSizeHint().width() <= 1280,
             qPrintable(QString::number(is.window->minimumSizeHint().width())));
    const auto* side = is.window->findChild<QScrollArea*>();
    QVERIFY(side->widget()->width() <= side->viewport()->width());
    for (const QToolButton* button : is.window->findChildren<QToolButton*>())
        if (button->isVisible())
            QVERIFY2(button->width() >= button->minimumSizeHint().width(), qPrintable(button->text()));
}

MPM_GUI_TEST(DesktopTest);
#include "desktop_test.moc"
