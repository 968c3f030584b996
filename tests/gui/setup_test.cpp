// Names of sources, and profiles.
#include <set>

#include <QComboBox>
#include <QDialogButtonBox>
#include <QInputDialog>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QSignalSpy>
#include <QTabBar>
#include <QTableView>

#include "gui/broker.hpp"
#include "gui/dialogs/alert_page.hpp"
#include "gui/dialogs/events_dialog.hpp"
#include "gui/dialogs/profiles_dialog.hpp"
#include "gui/dialogs/source_dialog.hpp"
#include "gui/dialogs/watch_dialog.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/services_fixture.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/window/application.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

namespace {

QJsonObject json(const QByteArray& text) {
    return QJsonDocument::fromJson(text).object();
}

/// Returns the button with these words, which may contain any Unicode character.
QPushButton* button(const QWidget* in, const QString& words) {
    for (QPushButton* candidate : in->findChildren<QPushButton*>())
        if (candidate->text().remove(QLatin1Char('&')) == words) return candidate;
    return nullptr;
}

}  // namespace

class SetupTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void namesOfAFile();
    void aNameIsShownEverywhere();
    void aNameIsGivenAtOpening();
    void namesArePublished();
    void profilesAreSwitched();
    void optionsHoldForOneStart();

private:
    MainWindow& window() { return *m_is->window; }
    /// Presses the keys of an action, and returns the dialog of this type that becomes visible.
    template <typename T>
    T* dialogAfter(const QKeySequence& keys) {
        window().activateWindow();
        if (!QTest::qWaitForWindowActive(&window())) return nullptr;
        QTest::keySequence(&window(), keys);
        T* found = nullptr;
        const bool opened = QTest::qWaitFor(
            [&] {
                for (T* dialog : window().findChildren<T*>())
                    if (dialog->isVisible()) found = dialog;
                return found != nullptr;
            },
            test::patience(5'000));
        return opened ? found : nullptr;
    }
    std::unique_ptr<test::WindowFixture> m_is;
};

/// A watch file of an earlier version has no names of sources. A rule may refer to a source by name.
void SetupTest::namesOfAFile() {
    const WatchSettings old = parseWatchSettings(R"({"sources": {"demo": {"regions": [], "masks": []}}})");
    QVERIFY(old.of(QStringLiteral("demo")).name.isEmpty());
    const WatchSettings watch = parseWatchSettings(
        R"({"sources": {"rtsp://a/1": {"name": " Front\ndoor "}, "rtsp://a/2": {"name": "Entrée"},
                        "rtsp://a/3": {"name": "Вход"}, "rtsp://a/4": {"name": "Выход"}},
            "alerts": [{"name": "busy", "of": "tokens", "threshold": 5, "source": "Entrée"}]})");
    QVERIFY(!watch.of(QStringLiteral("rtsp://a/1")).name.contains(QLatin1Char('\n')));
    const std::string same(200, 'x');
    const WatchSettings regions = parseWatchSettings(
        QByteArray(
            R"({"sources": {"demo": {"regions": [{"name": "NAME", "outline": [[0, 0], [1, 0], [1, 1]]}, {"name": "NAME",
                       "outline": [[0, 0], [1, 0], [1, 1]]}, {"name": "door", "outline": [[0, 0], [1, 0], [1, 1]]}, {"name": "door", "outline": [[0, 0], [1, 0], [1, 1]]}]}}})")
            .replace("NAME", same.c_str()));
    std::set<std::string> names;
    for (const auto& region : regions.of(QStringLiteral("demo")).regions)
        names.insert(region.name);
    QCOMPARE(names.size(), std::size_t{4});
    QVERIFY(names.count("door 2") == 1);
    QCOMPARE(watchText(parseWatchSettings(watchText(regions))), watchText(regions));
    QCOMPARE(watch.alerts[0].source, std::string("rtsp://a/2"));
    QCOMPARE(watchText(parseWatchSettings(watchText(watch))), watchText(watch));
    const auto topic = [&watch](const char* source) {
        const QString address = QLatin1String(source);
        return topicWord(address, watch.titleOf(address));
    };
    QCOMPARE(topic("rtsp://a/2"), QStringLiteral("entree"));
    QCOMPARE(topic("rtsp://a/3"), QStringLiteral("rtsp_a_3"));  // no letter of the name can be in a topic
    QCOMPARE(topic("rtsp://a/5"), QStringLiteral("rtsp_a_5"));
    const auto isFree = [&watch](const char* name) {
        return watch.isNameFree(QString::fromUtf8(name), QStringLiteral("demo"), {QStringLiteral("0")});
    };
    QVERIFY(isFree("") && isFree("Yard") && isFree("Вход 2"));
    for (const char* taken : {"entrée", "Entree", "rtsp://a/1", "0", "rtsp a 3"})
        QVERIFY2(!isFree(taken), taken);
    QVERIFY(watch.isNameFree(QStringLiteral("Entrée"), QStringLiteral("rtsp://a/2")));
}

void SetupTest::aNameIsShownEverywhere() {
    m_is->open();
    QVERIFY(m_is->next());
    const QString source = window().engine().sourceName();
    window().engine().noteEvent(QStringLiteral("alert"), QStringLiteral("busy: tokens above 5: 6"));
    window().sources().add(QStringLiteral("demo"));
    window().sources().select(0);
    auto* tabs = window().findChild<QTabBar*>();
    QCOMPARE(tabs->tabText(0), source);
    auto* ask = dialogAfter<QInputDialog>(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_N));
    QVERIFY(ask);
    const QPushButton* ok = ask->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
    ask->findChild<QLineEdit*>()->setText(QStringLiteral("Demo"));  // the name of the other source
    QVERIFY(!ok->isEnabled());
    ask->findChild<QLineEdit*>()->setText(QStringLiteral("  <b>Front door</b> "));
    QVERIFY(ok->isEnabled());
    ask->accept();
    const QString name = QStringLiteral("<b>Front door</b>");
    QCOMPARE(tabs->tabText(0), name);
    QCOMPARE(window().engine().title(), name);
    QCOMPARE(window().engine().sourceName(), source);
    const auto labelled = [](const QWidget* in, const QString& text) {
        for (const QLabel* label : in->findChildren<QLabel*>())
            if (label->text() == text && label->textFormat() == Qt::PlainText) return true;
        return false;
    };
    QVERIFY(labelled(window().header(), name));
    // Measurements are stored under the address, so the history stays. The dialog of events shows the name.
    auto* events = dialogAfter<EventsDialog>(QKeySequence(Qt::CTRL | Qt::Key_H));
    QVERIFY(events);
    QComboBox* filter = events->filter(EventModel::Source);
    QTRY_VERIFY_WITH_TIMEOUT(filter->findText(name) > 0, test::patience(10'000));
    QVERIFY(filter->findText(source) < 0);
    filter->setCurrentText(name);
    const QModelIndex index = events->table()->model()->index(0, EventModel::Source);
    QCOMPARE(index.data().toString(), name);
    QCOMPARE(index.data(EventModel::SourceRole).toString(), source);
    events->close();
    // A rule stores the address of the source, so it still applies after the source gets another name.
    auto* watch = dialogAfter<WatchDialog>(QKeySequence(Qt::CTRL | Qt::Key_A));
    QVERIFY(watch);
    watch->alerts()->add();
    QComboBox* of = nullptr;
    for (QComboBox* box : watch->alerts()->findChildren<QComboBox*>())
        if (box->findText(name) > 0) of = box;
    QVERIFY(of && of->findText(QStringLiteral("Built-in street")) > 0);
    of->setCurrentIndex(of->findText(name));
    emit of->activated(of->currentIndex());
    watch->close();
    QSignalSpy alerted(&window().session().services(), &Services::alerted);
    WatchSettings settings = window().session().services().settings();
    QCOMPARE(settings.alerts[0].source, mpm::gui::safeName(source.toStdString()));
    settings.alerts[0].threshold = 1;
    settings.alerts[0].hold = {};
    window().session().setWatch(settings);
    QTRY_VERIFY_WITH_TIMEOUT(!alerted.isEmpty(), test::patience(20'000));
    QCOMPARE(alerted[0][0].value<AlertNotice>().source, name);
    // After a restart, the source still has its name and regions.
    m_is->open();
    QVERIFY(m_is->next());
    QCOMPARE(window().engine().title(), name);
    window().session().nameSource(window().engine(), {});
    QCOMPARE(window().engine().title(), source);
    QVERIFY(readWatchSettings(window().session().profile().watchPath()).of(source).name.isEmpty());
}

void SetupTest::aNameIsGivenAtOpening() {
    const QString file = m_is->sandbox.film(8, 0);
    m_is->open();
    QVERIFY(m_is->next());
    auto* dialog = dialogAfter<SourceDialog>(QKeySequence(Qt::CTRL | Qt::Key_L));
    QVERIFY(dialog);
    const QList<QLineEdit*> edits = dialog->findChildren<QLineEdit*>();
    edits[0]->setText(file);
    edits[1]->setText(QStringLiteral("Yard"));
    QTest::mouseClick(test::button(dialog, "Open"), Qt::LeftButton);
    QCOMPARE(window().engine().sourceName(), file);
    QCOMPARE(window().engine().title(), QStringLiteral("Yard"));
    // The list of recent sources shows the name. The dialog does not accept the name for another source.
    dialog = dialogAfter<SourceDialog>(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L));
    QVERIFY(dialog);
    auto* list = dialog->findChild<QListWidget*>();
    const auto found = list->findItems(QStringLiteral("Yard (%1)").arg(file), Qt::MatchExactly);
    QCOMPARE(found.size(), 1);
    const QList<QLineEdit*> again = dialog->findChildren<QLineEdit*>();
    list->setCurrentItem(found[0]);
    QCOMPARE(again[0]->text(), file);
    QCOMPARE(again[1]->text(), QStringLiteral("Yard"));
    again[0]->setText(QStringLiteral("demo"));
    QCOMPARE(again[1]->text(), QString());
    again[1]->setText(QStringLiteral("yard"));
    QVERIFY(!test::button(dialog, "Open")->isEnabled());
    again[1]->setText(QStringLiteral("Street"));
    again[0]->setText(QStringLiteral("rtsp://another"));  // another address does not replace a typed name
    again[0]->setText(QStringLiteral("demo"));
    QCOMPARE(again[1]->text(), QStringLiteral("Street"));
    QTest::mouseClick(test::button(dialog, "Open"), Qt::LeftButton);
    QCOMPARE(window().session().sources().count(), 2);
    QCOMPARE(window().engine().title(), QStringLiteral("Street"));
    // The dialog suggests the system's name of a camera.
    SourceDialog::Choices choices;
    choices.cameras = QStringList{QStringLiteral("3: Yard camera")};
    SourceDialog cameras(QStringLiteral("Add"), choices);
    QSignalSpy chosen(&cameras, &SourceDialog::chosen);
    cameras.findChild<QListWidget*>()->setCurrentRow(1);
    QTest::mouseClick(test::button(&cameras, "Open"), Qt::LeftButton);
    QCOMPARE(chosen[0][0].toString(), QStringLiteral("3"));
    QCOMPARE(chosen[0][1].toString(), QStringLiteral("Yard camera"));
}

/// The MQTT topic contains the name. If the name changes, a sensor of Home Assistant keeps its identity.
void SetupTest::namesArePublished() {
    test::Broker broker(m_is->sandbox.path(QStringLiteral(".")));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Subscriber subscriber(broker.port());
    test::Setup setup(m_is->sandbox, QStringLiteral("names"));
    WatchSettings watch;
    watch.mqtt.on = watch.metrics.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");
    watch.mqtt.port = broker.port();
    watch.metrics.port = 0;
    setup.services.apply(watch);
    const QString source = m_is->sandbox.film(8, 0);
    setup.open(source);
    const QString before = setup.services.mqtt()->topicOf(source),
                  config = QStringLiteral("homeassistant/sensor/mpm_names_%1/tokens/config")
                               .arg(topicWord(source));
    QVERIFY(!subscriber.payload(before + QStringLiteral("/state")).isEmpty());
    const QString unique = json(subscriber.payload(config))[QStringLiteral("unique_id")].toString();
    subscriber.forget();
    watch.sources[source].name = QStringLiteral("Front door");
    watch.alerts = {test::rule("busy", mpm::pipeline::AlertRule::Of::Tokens, 1)};
    setup.services.apply(watch);
    const QString topic = QStringLiteral("mpm/names/front_door");
    QVERIFY(!subscriber.payload(topic + QStringLiteral("/state")).isEmpty());
    QCOMPARE(json(subscriber.payload(topic + QStringLiteral("/source")))[QStringLiteral("name")].toString(),
             QStringLiteral("Front door"));
    QCOMPARE(json(subscriber.payload(topic + QStringLiteral("/alert")))[QStringLiteral("source")].toString(),
             QStringLiteral("Front door"));
    const QJsonObject sensor = json(subscriber.payload(config));
    QCOMPARE(sensor[QStringLiteral("unique_id")].toString(), unique);
    QCOMPARE(sensor[QStringLiteral("state_topic")].toString(), topic + QStringLiteral("/state"));
    QCOMPARE(sensor[QStringLiteral("device")].toObject()[QStringLiteral("name")].toString(),
             QStringLiteral("Front door"));
    // The broker retains no message under the former name.
    test::Subscriber later(broker.port());
    QVERIFY(!later.payload(topic + QStringLiteral("/source")).isEmpty());
    QVERIFY(!later.said().contains(before.toUtf8() + "/source "));
    const auto page = [&] {
        return test::runBeside(
                   QStringLiteral("curl"),
                   {QStringLiteral("-sSf"),
                    QStringLiteral("http://127.0.0.1:%1/metrics").arg(setup.services.metrics()->port())})
            .out;
    };
    QTRY_VERIFY_WITH_TIMEOUT(page().contains(QStringLiteral("mpm_tokens_kept{source=\"Front door\"}")),
                             test::patience(20'000));
    QVERIFY(!page().contains(source));
}

void SetupTest::profilesAreSwitched() {
    const auto open = [](MainWindow& in) {
        for (QAction* action : in.findChildren<QAction*>())
            if (action->text().remove(QLatin1Char('&')) == QStringLiteral("Profiles…")) action->trigger();
        for (ProfilesDialog* dialog : in.findChildren<ProfilesDialog*>())
            if (dialog->isVisible()) return dialog;
        return static_cast<ProfilesDialog*>(nullptr);
    };
    const auto names = [](const ProfilesDialog& dialog) {
        QStringList found;
        for (int row = 0; row < dialog.list()->count(); ++row)
            found << dialog.list()->item(row)->data(Qt::UserRole).toString();
        return found;
    };
    Options options;
    options.size = QSize(1000, 600);
    ProfileWindow shown(options);
    shown.window().sources().open(m_is->sandbox.film(8, 0), QStringLiteral("Front door"));
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(shown.window().session().profile().path()),
                             test::patience(10'000));
    ProfilesDialog* dialog = open(shown.window());
    QVERIFY(dialog);
    QCOMPARE(names(*dialog), QStringList{QStringLiteral("default")});
    QCOMPARE(dialog->list()->item(0)->text(), QStringLiteral("default (this window)\nFront door"));
    QVERIFY(!test::button(dialog, "Switch")->isEnabled() &&
            !button(dialog, QStringLiteral("Delete…"))->isEnabled());
    QTest::mouseClick(button(dialog, QStringLiteral("New…")), Qt::LeftButton);
    auto* ask = dialog->findChild<QInputDialog*>();
    QVERIFY(ask);
    const QPushButton* ok = ask->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
    for (const char* wrong : {"Default", "../yard", "a/b"}) {
        ask->setTextValue(QLatin1String(wrong));
        QVERIFY2(!ok->isEnabled(), wrong);
    }
    ask->setTextValue(QStringLiteral("yard"));
    QVERIFY(ok->isEnabled());
    ask->accept();
    const auto profile = [&shown] { return shown.window().session().profile().name(); };
    QTRY_COMPARE_WITH_TIMEOUT(profile(), QStringLiteral("yard"), test::patience(20'000));
    QCOMPARE(shown.window().size(), QSize(1000, 600));
    QVERIFY(shown.window().isVisible());
    QVERIFY(shown.window().windowTitle().startsWith(QStringLiteral("yard")));
    QCOMPARE(shown.window().engine().sourceName(), QStringLiteral("demo"));
    QVERIFY(shown.window().session().readOnlyReason().isEmpty());
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(shown.window().session().profile().path()),
                             test::patience(10'000));
    const QString store = shown.window().session().profile().storePath();
    // Switches back to the first profile and deletes the second.
    dialog = open(shown.window());
    QCOMPARE(names(*dialog), (QStringList{QStringLiteral("default"), QStringLiteral("yard")}));
    dialog->list()->setCurrentRow(0);
    QTest::mouseClick(test::button(dialog, "Switch"), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(profile(), QStringLiteral("default"), test::patience(20'000));
    QCOMPARE(shown.window().engine().title(), QStringLiteral("Front door"));
    QVERIFY(QFile::exists(store));
    const QString damaged = store + QStringLiteral(".damaged-20260131-235959");
    QVERIFY(QFile::copy(store, damaged));
    dialog = open(shown.window());
    dialog->list()->setCurrentRow(1);
    if (const QString shots = qEnvironmentVariable("MPM_SHOTS"); !shots.isEmpty())
        dialog->grab().save(shots + QStringLiteral("/profiles.png"));
    QTest::mouseClick(button(dialog, QStringLiteral("Delete…")), Qt::LeftButton);
    auto* sure = dialog->findChild<QMessageBox*>();
    QVERIFY(sure);
    QTest::mouseClick(test::button(sure, "Delete"), Qt::LeftButton);
    QCOMPARE(names(*dialog), QStringList{QStringLiteral("default")});
    QVERIFY(!QFile::exists(store) && !QFile::exists(damaged));
    QVERIFY(profileNames() == QStringList{QStringLiteral("default")});
    QVERIFY(deleteProfile(QStringLiteral("default")).contains(QStringLiteral("in use")));
    QVERIFY(QFile::exists(shown.window().session().profile().path()));
}

void SetupTest::optionsHoldForOneStart() {
    const auto close = [&] {
        window().close();
        return window().session().profile().load();
    };
    m_is->open();
    window().resize(1100, 700);
    window().setAppearance(Appearance::Dark);
    window().views()->showView(QStringLiteral("merge"));
    const ProfileState before = close();
    QCOMPARE(before.view, QStringLiteral("merge"));
    QCOMPARE(before.theme, QStringLiteral("dark"));
    QVERIFY(!before.geometry.isEmpty());
    Options options;
    options.view = QStringLiteral("night");
    options.theme = QStringLiteral("light");
    options.size = QSize(1000, 660);
    m_is->open(options);
    QCOMPARE(window().size(), options.size);
    QCOMPARE(window().appearance(), Appearance::Light);
    QCOMPARE(QLatin1String(window().views()->entry().key), QLatin1String("night"));
    ProfileState after = close();
    QCOMPARE(after.view, before.view);
    QCOMPARE(after.theme, before.theme);
    QCOMPARE(after.geometry, before.geometry);
    // Options of the command line are not stored, but later changes by the user are.
    m_is->open(options);
    window().resize(1050, 680);
    window().setAppearance(Appearance::System);
    window().views()->showView(QStringLiteral("split"));
    after = close();
    QCOMPARE(after.view, QStringLiteral("split"));
    QCOMPARE(after.theme, QStringLiteral("system"));
    QVERIFY(after.geometry != before.geometry);
}

MPM_GUI_TEST(SetupTest);
#include "setup_test.moc"
