// Follows objects from the network to the table, the store, a broker, Prometheus, and alerts, which have a
// cut-out of the image. Also tests a restart.
#include <atomic>
#include <set>

#include <QAction>
#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSignalSpy>

#include "cli/small_model.hpp"
#include "gui/broker.hpp"
#include "gui/process.hpp"
#include "gui/registry.hpp"
#include "gui/services_fixture.hpp"
#include "gui/views/live_view.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;
using mpm::pipeline::AlertRule;
using mpm::pipeline::Millis;

class ObjectsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void nothingIsFollowedUnlessItIsWanted();
    void aRestartKeepsIdentities();
    void anAlertHasACutOut();
    void eachObjectRaisesItsOwnAlert();
    void countsArePublished();
    void eachRegionHasItsOwnSensors();
    void anAnswerHasTheNewestObjects();
    void anAnswerDoesNotWaitForTheHistory();
    void theWindowShowsThem();
    void boxesStandOnTheirFrame();
    void settingsNameTheClasses();

private:
    /// The file of a detector with two boxes side by side, of the classes "thing 0" and "thing 1".
    QString detector() const { return m_sandbox.path(QStringLiteral("detector.onnx")); }
    test::Sandbox m_sandbox;
};

namespace {

/// Returns the next analysis that fulfils the condition; null if the time limit passes.
template <typename Until>
AnalysisPtr next(Engine& engine, Until until) {
    AnalysisPtr found;
    const QMetaObject::Connection connection =
        QObject::connect(&engine, &Engine::measured, [&](const auto&, const AnalysisPtr& analysis) {
            if (!found && until(*analysis)) found = analysis;
        });
    const bool came = QTest::qWaitFor([&] { return found != nullptr; }, test::patience(30'000));
    QObject::disconnect(connection);
    return came ? found : nullptr;
}

bool follows(const Analysis& analysis) {
    return analysis.objects != nullptr;
}

WatchSettings following(const QString& source, const QStringList& classes) {
    WatchSettings watch;
    watch.sources[source].objects = classes;
    watch.sources[source].regions = {{"Front door", {{0, 0}, {.5, 0}, {.5, 1}, {0, 1}}}};
    return watch;
}

}  // namespace

void ObjectsTest::initTestCase() {
    mpm::test::SmallModel small;
    small.boxes = 2;
    mpm::test::writeSmallModel(detector().toStdString(), small);
}

void ObjectsTest::nothingIsFollowedUnlessItIsWanted() {
    test::Setup setup(m_sandbox, QStringLiteral("off"));
    setup.engine.openModel(detector());
    const QString source = m_sandbox.film(4, 0);
    setup.open(source);
    const AnalysisPtr plain = next(setup.engine, [](const Analysis& a) { return a.merged.detector; });
    QVERIFY(plain && !plain->objects);
    QVERIFY(!plain->model->classes && !plain->model->features);
    setup.services.apply(following(source, {QStringLiteral("thing 1")}));
    const AnalysisPtr on = next(setup.engine, follows);
    QVERIFY(on);
    QCOMPARE(on->objects->counts, (std::map<int, int>{{1, 1}}));
    QCOMPARE(on->regions.at(0).objects, (std::map<int, int>{{1, 0}}));  // the object is outside the region
    setup.services.apply({});
    QVERIFY(next(setup.engine, [](const Analysis& a) { return a.objects == nullptr; }));
}

/// The second run continues with the identities of the first. Objects that move are forgotten after a day, so
/// both runs are repeated if the clock was changed between them.
void ObjectsTest::aRestartKeepsIdentities() {
    const QString source = m_sandbox.film(4, 0);
    const auto offset = [] {
        return std::chrono::system_clock::now().time_since_epoch() -
               std::chrono::steady_clock::now().time_since_epoch();
    };
    std::vector<std::int64_t> before, after;
    std::int64_t next_ = 0;
    for (int attempt = 0; attempt < 20; ++attempt) {
        const auto begun = offset();
        before.clear(), after.clear();
        for (std::vector<std::int64_t>* ids : {&before, &after}) {
            test::Setup setup(m_sandbox, QStringLiteral("restart%1").arg(attempt));
            setup.engine.openModel(detector());
            setup.services.apply(following(source, {QStringLiteral("*")}));
            setup.open(source);
            const AnalysisPtr analysis = next(setup.engine, [&](const Analysis& a) {
                return follows(a) && (ids == &after || a.objects->objects.at(0).dwell() > 0);
            });
            QVERIFY(analysis);
            for (const auto& one : analysis->objects->objects)
                ids->push_back(one.id);
            QVERIFY(analysis->objects->objects.at(0).dwell() >
                    0);  // also in the first image after the restart
            next_ = analysis->objects->nextId;
        }
        if (std::chrono::abs(offset() - begun) < std::chrono::minutes(1)) break;
    }
    QCOMPARE(before.size(), std::size_t{2});
    QCOMPARE(after, before);
    QCOMPARE(next_, before.back() + 1);
}

void ObjectsTest::anAlertHasACutOut() {
    const QString source = m_sandbox.film(4, 0);
    test::Setup setup(m_sandbox, QStringLiteral("cut"));
    setup.engine.openModel(detector());
    QSignalSpy alerted(&setup.services, &Services::alerted);
    WatchSettings watch = following(source, {});  // no class is chosen, but rules follow their class
    AlertRule stays = test::rule("loiters", AlertRule::Of::ObjectStays, 0.5);
    stays.label = "thing 0";
    stays.region = "Front door";
    AlertRule many = test::rule("crowd", AlertRule::Of::Objects, 5);
    watch.alerts = {stays, many};
    setup.services.apply(watch);
    setup.open(source);
    QTRY_VERIFY_WITH_TIMEOUT(alerted.count() >= 1, test::patience(30'000));
    const auto notice = alerted.first()[0].value<AlertNotice>();
    QCOMPARE(notice.rule, QStringLiteral("loiters"));
    QVERIFY2(notice.text.startsWith(QStringLiteral("thing 0 in Front door for more than 0.5 s: ")),
             qPrintable(notice.text));
    QVERIFY(!notice.cutOut.isNull() && notice.cutOut.width() < 160);
    QString file;
    const auto kept = [&] {
        file = setup.services.imageOf(source, notice.time.toMSecsSinceEpoch() + 40);
        return file.contains(QStringLiteral("-objects/"));
    };
    QVERIFY2(QTest::qWaitFor(kept, test::patience(10'000)), qPrintable(file));
    QTRY_COMPARE(QImage(file).size(), notice.cutOut.size());
    QCOMPARE(alerted.count(), 1);
    watch.keepsImages = false;
    setup.services.apply(watch);
    QCOMPARE(setup.services.imageOf(source, notice.time.toMSecsSinceEpoch()), QString());
}

/// Both objects fulfil the rule in the same frame, so the rule's pause of a minute delays neither alert.
void ObjectsTest::eachObjectRaisesItsOwnAlert() {
    const QString source = m_sandbox.film(4, 0);
    test::Setup setup(m_sandbox, QStringLiteral("each"));
    setup.engine.openModel(detector());
    QSignalSpy alerted(&setup.services, &Services::alerted);
    std::vector<qint64> times;  // of the alerts
    connect(&setup.engine, &Engine::happened, this, [&](const mpm::pipeline::Event& event) {
        if (event.kind == "alert") times.push_back(event.time.count());
    });
    WatchSettings watch = following(source, {QStringLiteral("*")});
    watch.alerts = {test::rule("loiters", AlertRule::Of::ObjectStays, 0.5)};
    setup.services.apply(watch);
    setup.open(source);
    QTRY_COMPARE_WITH_TIMEOUT(alerted.count(), 2, test::patience(30'000));
    setup.engine.disconnect(this);
    std::set<QString> files;
    for (int i = 0; i < 2; ++i) {
        const auto notice = alerted.at(i)[0].value<AlertNotice>();
        QVERIFY(!notice.cutOut.isNull());
        QCOMPARE(times.at(std::size_t(i)), notice.time.toMSecsSinceEpoch());
        const QString name = QStringLiteral("/%1.jpg").arg(times[std::size_t(i)]);
        QTRY_VERIFY_WITH_TIMEOUT(setup.services.imageOf(source, times[std::size_t(i)]).endsWith(name),
                                 test::patience(10'000));
        files.insert(setup.services.imageOf(source, times[std::size_t(i)]));
    }
    QCOMPARE(files.size(), std::size_t{2});
}

void ObjectsTest::countsArePublished() {
    test::Broker broker(m_sandbox.path(QStringLiteral(".")));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Subscriber subscriber(broker.port());
    const QString source = m_sandbox.film(4, 0);
    test::Setup setup(m_sandbox, QStringLiteral("yard"));
    setup.engine.openModel(detector());
    WatchSettings watch = following(source, {QStringLiteral("*")});
    watch.mqtt.on = watch.metrics.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");
    watch.mqtt.port = broker.port();
    watch.metrics.port = 0;
    setup.services.apply(watch);
    setup.open(source);
    const QString topic = setup.services.mqtt()->topicOf(source);
    QJsonObject state;
    const auto published = [&] {
        const QByteArray payload = subscriber.payload(topic + QStringLiteral("/state"));
        state = QJsonDocument::fromJson(payload).object();
        return state[QStringLiteral("objects")].toInt() == 2;
    };
    QVERIFY2(QTest::qWaitFor(published, test::patience(30'000)), QJsonDocument(state).toJson());
    const auto count = [&](const QJsonValue& of) { return of[QStringLiteral("thing 1")].toInt(-1); };
    QCOMPARE(count(state[QStringLiteral("object_counts")]), 1);
    QCOMPARE(count(state[QStringLiteral("region_objects")][QStringLiteral("Front door")]), 0);
    const QString device = QStringLiteral("mpm_yard_") + topic.section(QLatin1Char('/'), 2);
    const auto config = [&](const char* kind, const char* id) {
        const QString at = QStringLiteral("homeassistant/%1/%2/%3/config")
                               .arg(QLatin1String(kind), device, QLatin1String(id));
        return QJsonDocument::fromJson(subscriber.payload(at)).object();
    };
    QCOMPARE(config("sensor", "objects_1")[QStringLiteral("value_template")].toString(),
             QStringLiteral("{{ value_json.object_counts['thing 1'] | default(0) }}"));
    const QJsonObject door = config("binary_sensor", "objects_0_front_door");
    QCOMPARE(door[QStringLiteral("name")].toString(), QStringLiteral("thing 0 in Front door"));
    QCOMPARE(door[QStringLiteral("device_class")].toString(), QStringLiteral("occupancy"));
    QVERIFY(door[QStringLiteral("value_template")].toString().contains(
        QStringLiteral("value_json.region_objects['Front door']['thing 0']")));
    QVERIFY(!subscriber.said().contains("/class_0/config"));  // a detector has no shares
    const QString url = QStringLiteral("http://127.0.0.1:%1/metrics").arg(setup.services.metrics()->port());
    const test::Outcome page = test::runBeside(QStringLiteral("curl"), {QStringLiteral("-sSf"), url});
    QVERIFY2(page.status == 0, qPrintable(page.err));
    for (const char* line :
         {"\nmpm_objects{", "\nmpm_class_objects{class=\"thing 1\",", "region=\"Front door\""})
        QVERIFY2(page.out.contains(QLatin1String(line)), line);
    // An empty config removes the sensors of a class that is no longer followed.
    subscriber.forget();
    watch.sources[source].objects = QStringList(QStringLiteral("thing 1"));
    setup.services.apply(watch);
    const QString gone = QStringLiteral("homeassistant/sensor/%1/objects_0/config").arg(device);
    QCOMPARE(subscriber.payload(gone), QByteArray("(null)"));
}

/// Regions are different if their names differ only in letters outside ASCII, or only in case.
void ObjectsTest::eachRegionHasItsOwnSensors() {
    test::Broker broker(m_sandbox.path(QStringLiteral(".")));
    QVERIFY2(broker.start(), qPrintable(broker.log()));
    test::Subscriber subscriber(broker.port());
    const QString source = m_sandbox.film(4, 0);
    test::Setup setup(m_sandbox, QStringLiteral("doors"));
    setup.engine.openModel(detector());
    WatchSettings watch = following(source, {QStringLiteral("thing 0")});
    auto& regions = watch.sources[source].regions;
    for (const char* name : {"front door", "入口", "出口", "Tür", "Tèr"})
        regions.push_back({name, regions[0].outline});
    watch.mqtt.on = true;
    watch.mqtt.host = QStringLiteral("127.0.0.1");
    watch.mqtt.port = broker.port();
    setup.services.apply(watch);
    setup.open(source);
    const QString state = setup.services.mqtt()->topicOf(source) + QStringLiteral("/state");
    std::map<QString, QString> names;  // by id
    const auto announced = [&] {
        subscriber.payload(state);
        for (const QByteArray& line : subscriber.said().split('\n')) {
            if (!line.startsWith("homeassistant/binary_sensor/") || !line.contains("/objects_0_")) continue;
            const QJsonObject config = QJsonDocument::fromJson(line.mid(line.indexOf(' ') + 1)).object();
            names[config[QStringLiteral("unique_id")].toString()] = config[QStringLiteral("name")].toString();
        }
        return names.size() == regions.size();
    };
    QVERIFY2(QTest::qWaitFor(announced, test::patience(30'000)), qPrintable(QString::number(names.size())));
    std::set<QString> different;
    for (const auto& [id, name] : names)
        different.insert(name);
    QCOMPARE(different.size(), regions.size());
}

/// An answer of the recorder has the objects that were set before the question, even if they are not yet
/// stored.
void ObjectsTest::anAnswerHasTheNewestObjects() {
    std::atomic<std::int64_t> found{-1};
    Recorder recorder(m_sandbox.path(QStringLiteral("answers.sqlite")));
    recorder.start();
    recorder.setSource(QStringLiteral("yard"));
    for (const std::int64_t next_ : {3, 7}) {
        recorder.setObjects(
            std::make_shared<const mpm::pipeline::KnownObjects>(mpm::pipeline::KnownObjects{next_, {}}));
        recorder.ask([&](const mpm::pipeline::Store& store, std::int64_t source) {
            found = store.objects(source).nextId;
        });
        QTRY_VERIFY_WITH_TIMEOUT(found != -1, test::patience(20'000));
        QCOMPARE(found.exchange(-1), next_);
    }
}

/// The history of a large store takes seconds to load. A program without a window does not load it.
void ObjectsTest::anAnswerDoesNotWaitForTheHistory() {
    const QString path = m_sandbox.path(QStringLiteral("history.sqlite"));
    {
        Recorder recorder(path);
        QStringList heard;
        connect(&recorder, &Recorder::historyLoaded, this, [&] { heard << QStringLiteral("history"); });
        recorder.start();
        recorder.setSource(QStringLiteral("yard"), [&](const auto&, std::int64_t) {
            QMetaObject::invokeMethod(
                &recorder, [&] { heard << QStringLiteral("answer"); }, Qt::QueuedConnection);
        });
        QTRY_COMPARE_WITH_TIMEOUT(heard.size(), qsizetype(2), test::patience(20'000));
        QCOMPARE(heard.first(), QStringLiteral("answer"));
    }
    Recorder alone(path);
    alone.start();
    alone.setSource(QStringLiteral("yard"));
    alone.finish();
    QSignalSpy loaded(&alone, &Recorder::historyLoaded);
    QCoreApplication::processEvents();
    QCOMPARE(loaded.count(), 0);
}

void ObjectsTest::theWindowShowsThem() {
    test::WindowFixture is;
    Options options;
    options.model = detector();
    is.open(options);
    ObjectModel& table = is.window->models().objects;
    QVERIFY(is.next());
    QCOMPARE(table.rowCount(), 0);
    const QImage plain = is.overlay;
    QAction* follow = nullptr;
    for (QAction* action : is.window->findChildren<QAction*>())
        if (action->text() == QStringLiteral("Follow &objects")) follow = action;
    QVERIFY(follow != nullptr && !follow->isChecked());
    follow->trigger();
    QVERIFY(is.nextWhere(follows));
    QTRY_COMPARE(table.rowCount(), 2);
    QVERIFY(follow->isChecked());
    QVERIFY(table.index(0, ObjectModel::Name).data().toString().startsWith(QStringLiteral("thing ")));
    QVERIFY(table.index(0, ObjectModel::Name).data(ObjectModel::MomentRole).toLongLong() > 0);
    QTRY_VERIFY_WITH_TIMEOUT(table.index(0, ObjectModel::Where).data().toString() == QStringLiteral("stays"),
                             test::patience(20'000));
    QCOMPARE(is.window->session().services().settings().of(is.window->engine().sourceName()).objects,
             QStringList(QStringLiteral("*")));
    follow->trigger();
    QTRY_COMPARE_WITH_TIMEOUT(table.rowCount(), 0, test::patience(20'000));
}

/// If objects are followed, the view shows the analysed frame under its boxes. If the analysis takes seconds,
/// the view shows the newest frame.
void ObjectsTest::boxesStandOnTheirFrame() {
    Viewport viewport;
    LiveView view(&viewport);
    const auto frame = [](std::int64_t number, std::chrono::seconds age) {
        LiveFrame made;
        made.number = number;
        made.pixels = cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(90));
        made.captured = Steady::now() - age;
        return made;
    };
    const auto analysed = [&](std::int64_t number, std::chrono::seconds age, bool followed) {
        auto analysis = std::make_shared<Analysis>();
        analysis->frame = frame(number, age);
        if (followed) analysis->objects = std::make_shared<mpm::pipeline::FollowedObjects>();
        return analysis;
    };
    view.setFrame(frame(4, {}));
    QCOMPARE(view.note(), QStringLiteral("frame 4"));
    view.setObjects(analysed(5, {}, true));
    view.setFrame(frame(9, {}));
    QCOMPARE(view.note(), QStringLiteral("frame 5"));
    view.setObjects(analysed(6, std::chrono::seconds(3), true));
    view.setFrame(frame(10, {}));
    QCOMPARE(view.note(), QStringLiteral("frame 10"));
    view.setObjects(analysed(7, {}, false));
    view.setFrame(frame(11, {}));
    QCOMPARE(view.note(), QStringLiteral("frame 11"));
}

void ObjectsTest::settingsNameTheClasses() {
    WatchSettings watch = following(QStringLiteral("demo"), {QStringLiteral("car"), QStringLiteral("*")});
    AlertRule rule = test::rule("left", AlertRule::Of::ObjectLeft, 30);
    rule.label = "bus";
    rule.source = "demo";
    watch.alerts = {rule};
    const WatchSettings read = parseWatchSettings(watchText(watch));
    QCOMPARE(watchText(read), watchText(watch));
    QCOMPARE(read.objectsOf(QStringLiteral("demo")), (std::vector<std::string>{"car", "*", "bus"}));
    QVERIFY(read.objectsOf(QStringLiteral("yard")).empty());
    QVERIFY_THROWS_EXCEPTION(WatchError, parseWatchSettings(R"({"sources": {"demo": {"objects": [1]}}})"));
}

MPM_GUI_TEST(ObjectsTest);
#include "objects_test.moc"
