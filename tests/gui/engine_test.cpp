// The workers without a window: frames and settings pass through a network to measurements.
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <QSignalSpy>
#include <QTest>

#include "gui/engine/engine.hpp"
#include "gui/registry.hpp"
#include "gui/support.hpp"

using namespace mpm::gui;

class EngineTest : public QObject {
    Q_OBJECT
private slots:
    void mailboxKeepsTheNewest();
    void messagesAreHeardInOrder();
    void theWindowComesFirst();
    void whatEndsAThreadIsSaid();
    void imagesAreAnalysedAndKept();
    void scheduleChangesTheNextFrame();
    void comparisonIsOfTheSameFrame();
    void nightMergesLess();
    void missingSourceIsReported();
    void passwordsAreNotKept();
    void badModelLeavesTheOldOneRunning();
    void analyserLeavesOutBlocksAModelHasNot();
    void pausedSourceIsAnalysedAgainWhenSettingsChange();
    void storeThatCannotBeWrittenIsReported();
    void whatFindsNoRoomIsCounted();
    void aLockedStoreLosesNoObjects();
    void closesAtAnyMoment();

private:
    test::Sandbox m_sandbox;
    int m_stores = 0;
    QString store() { return m_sandbox.path(QStringLiteral("store%1.sqlite").arg(++m_stores)); }
};

namespace {

/// Collects the messages of an engine, and waits for the messages that a test needs.
struct Watch : QObject {
    explicit Watch(Engine& engine) {
        connect(&engine, &Engine::measured, this,
                [this](const auto& measurement, const AnalysisPtr& analysis) {
                    measurements.push_back(measurement);
                    analyses.push_back(analysis);
                });
        connect(&engine, &Engine::compared, this,
                [this](const RenderedComparison& drawn) { comparisons.push_back(drawn); });
        connect(&engine, &Engine::nightSimulated, this,
                [this](const RenderedNight& drawn) { nights.push_back(drawn); });
        connect(&engine, &Engine::sourceReported, this,
                [this](const SourceReport& report) { reports.push_back(report); });
        connect(&engine, &Engine::framed, this, [this](const LiveFrame& frame) { shown = frame.number; });
    }
    std::vector<mpm::pipeline::Measurement> measurements;
    std::vector<AnalysisPtr> analyses;
    std::vector<RenderedComparison> comparisons;
    std::vector<RenderedNight> nights;
    std::vector<SourceReport> reports;
    std::int64_t shown = -1;  ///< number of the newest frame
};

int niceness() {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
}

/// Posts `words` messages, then ends, or throws if `fails`.
class Talker : public Worker {
public:
    Talker(int words, std::function<void(std::string)> hears)
        : Worker("talker"), m_words(words), m_hears(std::move(hears)) {}
    ~Talker() override { finish(); }
    bool fails = false;
    int wasNice = -1;

protected:
    void work() override {
        wasNice = niceness();
        for (int i = 0; i < m_words; ++i)
            post([this, word = "word " + std::to_string(i)] { m_hears(word); });
        if (fails) throw std::runtime_error("out of words");
    }
    void wake() override {}

private:
    const int m_words;
    const std::function<void(std::string)> m_hears;
};

}  // namespace

void EngineTest::mailboxKeepsTheNewest() {
    Mailbox<int> box;
    QVERIFY(!box.take());
    QVERIFY(box.put(1));
    QVERIFY(!box.put(2));
    QCOMPARE(*box.take(), 2);
    QVERIFY(!box.take());
}

void EngineTest::messagesAreHeardInOrder() {
    std::vector<std::string> heard;
    bool here = true;
    const QThread* window = QThread::currentThread();
    Talker talker(100, [&](std::string word) {
        here = here && QThread::currentThread() == window;
        heard.push_back(std::move(word));
    });
    talker.start();
    QTRY_COMPARE_WITH_TIMEOUT(heard.size(), size_t(100), test::patience(10'000));
    QVERIFY(here);
    for (size_t i = 0; i < heard.size(); ++i)
        QCOMPARE(heard[i], "word " + std::to_string(i));
    QTest::qWait(0);
    QCOMPARE(heard.size(), size_t(100));
}

void EngineTest::theWindowComesFirst() {
    Talker talker(1, [](const std::string&) {});
    const int own = niceness();
    talker.start();
    talker.finish();
    QCOMPARE(talker.wasNice, std::min(own + 5, 19));
    QCOMPARE(niceness(), own);
}

void EngineTest::whatEndsAThreadIsSaid() {
    std::vector<std::string> heard;
    Talker talker(3, [&](std::string word) { heard.push_back(std::move(word)); });
    talker.fails = true;
    QSignalSpy crashed(&talker, &Worker::crashed);
    talker.start();
    QTRY_COMPARE_WITH_TIMEOUT(crashed.count(), 1, test::patience(10'000));
    QCOMPARE(crashed[0][0].toString(), QStringLiteral("out of words"));
    QCOMPARE(heard.size(), size_t(3));  // earlier messages arrive first
}

void EngineTest::imagesAreAnalysedAndKept() {
    const QString path = store();
    const QString source = m_sandbox.images(3, 0);
    size_t seen = 0;
    {
        Engine engine(path);
        Watch watch(engine);
        engine.openModel(QStringLiteral("default"));
        engine.openSource(source);
        QTRY_VERIFY_WITH_TIMEOUT(watch.measurements.size() >= 2, test::patience(30'000));
        QVERIFY(watch.measurements[0].tokensIn > 0);
        QVERIFY(watch.measurements[0].tokensKept() < watch.measurements[0].tokensIn);
        QCOMPARE(watch.measurements[0].stageTokens.size(), watch.analyses[0]->model->schedule.size());
        QVERIFY(watch.measurements[1].frame > watch.measurements[0].frame);
        for (const AnalysisPtr& analysis : watch.analyses)
            seen += !analysis->repeat;
    }  // the engine's destructor writes the pending rows
    mpm::pipeline::Store store(path.toStdString());
    QCOMPARE(size_t(store.count(store.source(source.toStdString()))), seen);
}

void EngineTest::scheduleChangesTheNextFrame() {
    Engine engine(store());
    Watch watch(engine);
    Request request;
    engine.setRequest(request);
    engine.openModel(QStringLiteral("default"));
    engine.openSource(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(!watch.analyses.empty(), test::patience(30'000));
    QCOMPARE(watch.analyses.front()->schedule, watch.analyses.front()->model->schedule);
    QVERIFY(watch.analyses.back()->tokensKept() < watch.analyses.back()->tokensIn());
    request.ownSchedule = false;
    request.schedule = {};
    engine.setRequest(request);
    const auto last = [&] { return watch.analyses.back(); };
    QTRY_VERIFY_WITH_TIMEOUT(last()->schedule.empty(), test::patience(10'000));
    QCOMPARE(last()->tokensKept(), last()->tokensIn());
    request.schedule = {5, 100};  // this model has no block 100
    engine.setRequest(request);
    QTRY_COMPARE_WITH_TIMEOUT(last()->schedule, std::vector<int>{5}, test::patience(10'000));
    QCOMPARE(last()->merged.tokens.stages.size(), size_t(1));
}

void EngineTest::comparisonIsOfTheSameFrame() {
    Engine engine(store());
    Watch watch(engine);
    Request request;
    request.compare = true;
    engine.setRequest(request);
    engine.openModel(QStringLiteral("default"));
    engine.openSource(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(!watch.comparisons.empty(), test::patience(30'000));
    const Comparison& comparison = *watch.comparisons.back().comparison;
    QCOMPARE(tokensKept(comparison.whole.tokens), comparison.analysis->tokensIn());
    QVERIFY(comparison.analysis->tokensKept() < comparison.analysis->tokensIn());
    QVERIFY(comparison.agreement > 0 && comparison.agreement <= 1);
    QCOMPARE(watch.comparisons.back().whole.size(), QSize(160, 120));
}

void EngineTest::nightMergesLess() {
    Engine engine(store());
    Watch watch(engine);
    Request request;
    request.simulateNight = true;
    request.night = {0.3, 20, 0.05};
    engine.setRequest(request);
    engine.openModel(QStringLiteral("default"));
    engine.openSource(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(!watch.nights.empty(), test::patience(30'000));
    const NightPair& pair = *watch.nights.back().pair;
    QVERIFY(mpm::pipeline::luminance(pair.pixels) < pair.analysis->frame.luminance / 2);
    QVERIFY(pair.tokensKept() != pair.analysis->tokensKept());
}

void EngineTest::missingSourceIsReported() {
    Engine engine(store());
    Watch watch(engine);
    engine.openSource(m_sandbox.path(QStringLiteral("nothing.mp4")));
    QTRY_VERIFY_WITH_TIMEOUT(
        !watch.reports.empty() && watch.reports.back().status.state == mpm::pipeline::SourceState::Failed,
        test::patience(10'000));
    QVERIFY(!watch.reports.back().status.message().empty());
    QVERIFY(!watch.reports.back().current());
}

void EngineTest::passwordsAreNotKept() {
    const QString path = store();
    {
        Engine engine(path);
        Watch watch(engine);
        engine.openSource(QStringLiteral("rtsp://user:geheim@127.0.0.1:1/stream"));
        QTRY_VERIFY_WITH_TIMEOUT(!watch.reports.empty(), test::patience(10'000));
        for (const SourceReport& report : watch.reports) {
            QVERIFY(!report.name.contains(QStringLiteral("geheim")));
            QVERIFY(report.status.message().find("geheim") == std::string::npos);
        }
        QTest::qWait(1'500);
    }
    for (const QString& name : {path, path + QStringLiteral("-wal")}) {
        QFile file(name);
        if (file.open(QIODevice::ReadOnly)) QVERIFY(!file.readAll().contains("geheim"));
    }
}

void EngineTest::badModelLeavesTheOldOneRunning() {
    Engine engine(store());
    Watch watch(engine);
    QSignalSpy loaded(&engine, &Engine::modelLoaded), failed(&engine, &Engine::modelFailed);
    engine.openModel(QStringLiteral("default"));
    engine.openSource(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(!watch.analyses.empty(), test::patience(30'000));
    const QString damaged = m_sandbox.path(QStringLiteral("damaged.onnx"));
    QFile file(damaged);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("this is not a model");
    file.close();
    for (const QString& model : {damaged, m_sandbox.path(QStringLiteral("missing.onnx"))}) {
        failed.clear();
        engine.openModel(model);
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, test::patience(10'000));
        QVERIFY(failed[0][1].toString().contains(model));
        const size_t before = watch.analyses.size();
        QTRY_VERIFY_WITH_TIMEOUT(watch.analyses.size() > before, test::patience(10'000));
    }
    QCOMPARE(loaded.count(), 1);
}

void EngineTest::analyserLeavesOutBlocksAModelHasNot() {
    mpm::pipeline::Network network{mpm::pipeline::RandomModel{{64, 64}, 64, 3, 2, 4}};
    QVERIFY(network.encoder().blocks() == 3);
    auto facts = std::make_shared<ModelFacts>();
    facts->blocks = 3;
    Analyser analyser(mpm::pipeline::Segmenter(std::move(network)), facts);
    LiveFrame frame;
    frame.pixels = cv::Mat(48, 64, CV_8UC3, cv::Scalar(90, 120, 60));
    frame.captured = Steady::now();
    Request request;
    request.ownSchedule = false;
    request.schedule = {1, 2, 9};
    const Analysis analysis = analyser.analyse(frame, request);
    QCOMPARE(analysis.schedule, (std::vector<int>{1, 2}));  // no block 9 here
    QCOMPARE(analysis.merged.labels.size().width, 64);
    QVERIFY(analysis.shares.size() >= 1 && analysis.shares.size() <= 4);
}

void EngineTest::pausedSourceIsAnalysedAgainWhenSettingsChange() {
    Engine engine(store());
    Watch watch(engine);
    engine.openModel(QStringLiteral("default"));
    engine.openSource(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(!watch.analyses.empty(), test::patience(30'000));
    engine.setPaused(true);
    QTest::qWait(300);  // a frame may be in progress
    QTRY_COMPARE_WITH_TIMEOUT(watch.analyses.back()->frame.number, watch.shown, test::patience(10'000));
    const std::int64_t number = watch.analyses.back()->frame.number;
    Request request;
    request.ownSchedule = false;
    request.schedule = {3};
    engine.setRequest(request);
    QTRY_COMPARE_WITH_TIMEOUT(watch.analyses.back()->schedule, std::vector<int>{3}, test::patience(10'000));
    QCOMPARE(watch.analyses.back()->frame.number, number);
    QVERIFY(watch.analyses.back()->repeat);
    engine.setPaused(false);
    QTRY_VERIFY_WITH_TIMEOUT(watch.analyses.back()->frame.number > number, test::patience(10'000));
}

void EngineTest::storeThatCannotBeWrittenIsReported() {
    const QString path = m_sandbox.path(QStringLiteral("folder.sqlite"));
    QVERIFY(QDir().mkpath(path));
    Engine engine(path);
    QSignalSpy failing(&engine.recorder(), &Recorder::failing);
    Watch watch(engine);
    engine.openModel(QStringLiteral("default"));
    engine.openSource(m_sandbox.film(8, 0));
    QTRY_VERIFY_WITH_TIMEOUT(failing.count() >= 1, test::patience(10'000));
    QTRY_VERIFY_WITH_TIMEOUT(!watch.analyses.empty(), test::patience(30'000));  // watching continues
}

/// If more than 20,000 events wait for the store, the recorder drops the oldest and counts them as lost. Here
/// the store cannot be opened, so all events are lost.
void EngineTest::whatFindsNoRoomIsCounted() {
    const QString path = m_sandbox.path(QStringLiteral("full.sqlite"));
    QVERIFY(QDir().mkpath(path));
    Recorder recorder(path);
    recorder.setSource(QStringLiteral("yard"));
    for (int i = 0; i < 20'010; ++i)
        recorder.addEvent({mpm::pipeline::Millis(i), "source", "live"});
    recorder.start();
    recorder.finish();
    QCOMPARE(recorder.lost(), 20'010);
}

void EngineTest::aLockedStoreLosesNoObjects() {
    const QString path = store();
    Recorder recorder(path);
    QSignalSpy failing(&recorder, &Recorder::failing);
    recorder.start();
    recorder.setSource(QStringLiteral("yard"));
    std::atomic<std::int64_t> found{-1};
    const auto ask = [&] {  // the objects are stored before the answer
        recorder.ask([&](const mpm::pipeline::Store& kept, std::int64_t source) {
            found = kept.objects(source).nextId;
        });
    };
    ask();
    QTRY_COMPARE_WITH_TIMEOUT(found.load(), std::int64_t(1), test::patience(20'000));
    found = -1;
    sqlite3* other = nullptr;
    QCOMPARE(sqlite3_open(path.toUtf8().constData(), &other), SQLITE_OK);
    QCOMPARE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    recorder.setObjects(
        std::make_shared<const mpm::pipeline::KnownObjects>(mpm::pipeline::KnownObjects{7, {}}));
    ask();
    QTRY_VERIFY_WITH_TIMEOUT(failing.count() == 1, test::patience(20'000));
    sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr);
    sqlite3_close(other);
    QTRY_VERIFY_WITH_TIMEOUT(found != -1, test::patience(20'000));
    QCOMPARE(found.load(), std::int64_t(7));
}

void EngineTest::closesAtAnyMoment() {
    const QString source = m_sandbox.film(8, 0);
    for (const int wait : {0, 1, 20, 150, 400, 600}) {
        Engine engine(store());
        engine.openModel(QStringLiteral("default"));
        engine.openSource(source);
        QTest::qWait(wait);
        if (wait % 20 == 0) engine.openSource(source);
        QElapsedTimer timer;
        timer.start();
        Request request;
        request.compare = true;
        engine.setRequest(request);
    }
}

MPM_GUI_TEST(EngineTest);
#include "engine_test.moc"
