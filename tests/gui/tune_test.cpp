// Tunes from the window: `mpm tune` gets images of the source, and a copy of the model gets the chosen
// result. If the result would depend on the machine's speed, a script replaces `mpm`.
#include <QDir>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTest>

#include "gui/dialogs/tune_dialog.hpp"
#include "gui/panels/conversion_bar.hpp"
#include "gui/registry.hpp"
#include "gui/window_fixture.hpp"
#include "models/onnx/inspect.hpp"

using namespace mpm::gui;

class TuneTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void cleanup() { m_is.reset(); }
    void theProgramRunsToItsEnd();
    void theChoiceIsUsed();
    void cancelledByItsButton();
    void reasonsAreSaid();
    void nothingToChooseIsShown();
    void withoutImagesNothingBegins();

private:
    MainWindow& window() { return *m_is->window; }
    ConversionBar* bar() { return window().findChild<ConversionBar*>(); }
    QString models() { return window().model().folder(); }
    /// Opens a window with the small model, and waits for the first analysis.
    void open() {
        m_is->open(m_is->withModel({}));
        QVERIFY(m_is->next());
    }
    TuneDialog* dialog() {
        TuneDialog* found = nullptr;
        const auto came = [&] { return (found = window().findChild<TuneDialog*>()) != nullptr; };
        return QTest::qWaitFor(came, test::patience(180'000)) ? found : nullptr;
    }
    /// Replaces `mpm` by a script: $2 is the model, $3 the folder of images, $5 the file for the results.
    void useScript(const QByteArray& lines) {
        const QString path = m_is->sandbox.path(QStringLiteral("script"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("#!/bin/sh\n" + lines) > 0);
        file.close();
        QVERIFY(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
        ModelTuner::setProgram(path);
    }
    QString record() const { return m_is->sandbox.path(QStringLiteral("record")); }
    std::vector<QImage> images() const {
        QImage image(96, 64, QImage::Format_RGB32);
        image.fill(Qt::darkGreen);
        return std::vector<QImage>(8, image);
    }
    /// Tunes with a program that fails, and returns the message.
    QString messageOf() const {
        ModelTuner tuner;
        QSignalSpy failed(&tuner, &ModelTuner::failed);
        const QString folder = m_is->sandbox.path(QStringLiteral("failing"));
        tuner.tune(QStringLiteral("model.onnx"), images(), folder);
        if (!QTest::qWaitFor([&] { return failed.count() == 1; }, test::patience(60'000))) return {};
        return QDir(folder).isEmpty(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot)
                   ? failed[0][0].toString()
                   : QStringLiteral("files stay in the folder");
    }

    std::unique_ptr<test::WindowFixture> m_is;
};

namespace {

/// Returns results as `mpm tune --json` writes them. `chosen` is the flag of the first row, which is not the
/// fastest.
QByteArray results(bool chosen) {
    const QByteArray row =
        R"({"parameters": "%1", "schedule": [%2], "speed": %3, "agreement": {"mean": 0.995, "worst_tenth": 0.98}, )"
        R"("unbeaten": %4, "chosen": %5})";
    const auto rowOf = [&](const char* method, const char* blocks, const char* speed, const char* unbeaten,
                           const char* is) {
        return QByteArray(row)
            .replace("%1", method)
            .replace("%2", blocks)
            .replace("%3", speed)
            .replace("%4", unbeaten)
            .replace("%5", is);
    };
    return R"({"complete": true, "images": 16, "results": [)" +
           rowOf("mpm:pairs=0.3", "1, 4", "1.25", "true", chosen ? "true" : "false") + ", " +
           rowOf("gentle", "1, 3", "0.9", "false", "false") + ", " +
           rowOf("mpm", "2, 5", "1.5", "true", "false") + "]}";
}

}  // namespace

void TuneTest::init() {
    m_is = std::make_unique<test::WindowFixture>();
    ModelTuner::setProgram(QStringLiteral(MPM_PROGRAM));
}

void TuneTest::theProgramRunsToItsEnd() {
    open();
    window().tuning().begin();
    QVERIFY(bar()->tunes());
    TuneDialog* found = dialog();
    QVERIFY2(found != nullptr, qPrintable(window().message()));
    QVERIFY(found->findChild<QTableWidget*>()->rowCount() > 0);
    QVERIFY(!bar()->busy());
    QVERIFY(QDir(models()).isEmpty(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot));
    QVERIFY(m_is->next());  // the analysis continues
}

void TuneTest::theChoiceIsUsed() {
    useScript("{ echo \"$1 $2 $4\"; stat -c '%a %n' \"$3\"/*; } >'" + record().toUtf8() + "'\n" +
              "cat >\"$5\" <<'END'\n" + results(true) + "\nEND\n");
    open();
    window().models().schedule.setSchedule({2});  // the tuned schedule replaces a schedule that the user set
    window().tuning().begin();
    TuneDialog* found = dialog();
    QVERIFY2(found != nullptr, qPrintable(window().message()));
    if (const QString shots = qEnvironmentVariable("MPM_SHOTS"); !shots.isEmpty())
        found->grab().save(shots + QStringLiteral("/tune.png"));
    QFile said(record());
    QVERIFY(said.open(QIODevice::ReadOnly));
    const QList<QByteArray> lines = said.readAll().trimmed().split('\n');
    QCOMPARE(lines[0], "tune " + m_is->sandbox.path(QStringLiteral("model.onnx")).toUtf8() + " --json");
    QCOMPARE(lines.size(), 17);
    for (const QByteArray& line : lines.mid(1))
        QVERIFY2(line.startsWith("600 " + models().toUtf8()) && line.endsWith(".png"), line);
    const auto* table = found->findChild<QTableWidget*>();
    QCOMPARE(table->rowCount(), 2);  // the first row is the fastest
    QCOMPARE(table->item(0, 3)->text(), QStringLiteral("mpm"));
    QCOMPARE(table->currentRow(), 1);
    QTest::mouseClick(test::button(found, "Use it"), Qt::LeftButton);
    const QString made = models() + QStringLiteral("/model-tuned.onnx");
    QVERIFY2(m_is->nextWhere([&](const Analysis& a) { return a.model->path == made; }),
             qPrintable(window().message()));
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.schedule == std::vector<int>{1, 4}; }));
    const auto stored = mpm::models::inspectModel(made.toStdString()).found;
    QVERIFY2(stored.method.find("pairs=0.3") != std::string::npos, stored.method.c_str());
    QCOMPARE(window().session().state().model, made);
    const auto others = QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot;
    QCOMPARE(QDir(models()).entryList(others), QStringList(QStringLiteral("model-tuned.onnx")));
}

void TuneTest::cancelledByItsButton() {
    useScript("echo started >'" + record().toUtf8() + "'\nexec sleep 600\n");
    open();
    const auto press = [this] {
        QTest::mouseClick(bar()->findChild<QPushButton*>(QStringLiteral("cancelConversion")), Qt::LeftButton);
    };
    window().tuning().begin();
    press();  // while images are collected
    QVERIFY(!bar()->busy());
    QVERIFY(window().message().contains(QStringLiteral("cancelled")));
    window().tuning().begin();
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(record()), test::patience(90'000));
    // While mpm tunes, the analysis is paused.
    QVERIFY(QTest::qWaitFor(
        [this] {
            const int before = m_is->count;
            QTest::qWait(500);
            return m_is->count == before;
        },
        test::patience(30'000)));
    window().model().convert(QStringLiteral("other.onnx"));
    QVERIFY(window().message().contains(QStringLiteral("wait, or cancel it")));
    window().tuning().begin();
    QVERIFY(window().message().contains(QStringLiteral("task below")));
    press();
    QTRY_VERIFY_WITH_TIMEOUT(!bar()->busy(), test::patience(20'000));
    QVERIFY(window().message().contains(QStringLiteral("cancelled")));
    QVERIFY(m_is->next());
    QVERIFY(QDir(models()).isEmpty(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot));
}

void TuneTest::reasonsAreSaid() {
    useScript(
        "echo 'mpm: warning: of something' >&2\n"
        "echo 'mpm: model.onnx: no block of this model can merge its tokens' >&2\nexit 3\n");
    QCOMPARE(messageOf(), QStringLiteral("model.onnx: no block of this model can merge its tokens"));
    useScript("exit 7\n");
    QCOMPARE(messageOf(), QStringLiteral("mpm tune ended with status 7"));
    ModelTuner::setProgram(QStringLiteral("/nowhere/mpm"));
    QCOMPARE(messageOf(), QStringLiteral("/nowhere/mpm cannot be started"));
    // `mpm` itself rejects images of a single colour.
    ModelTuner::setProgram(QStringLiteral(MPM_PROGRAM));
    const QString model = m_is->withModel({}).model.value();
    ModelTuner tuner;
    QSignalSpy failed(&tuner, &ModelTuner::failed);
    tuner.tune(model, images(), m_is->sandbox.path(QStringLiteral("plain")));
    QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, test::patience(60'000));
    QVERIFY2(failed[0][0].toString().contains(QStringLiteral("8 of one colour")),
             qPrintable(failed[0][0].toString()));
}

void TuneTest::nothingToChooseIsShown() {
    useScript("cat >\"$5\" <<'END'\n" + results(false) +
              "\nEND\necho 'mpm: no candidate keeps an agreement of 0.99' >&2\nexit 1\n");
    ModelTuner tuner;
    std::optional<TuneFound> found;
    connect(&tuner, &ModelTuner::found, this, [&](const TuneFound& result) { found = result; });
    tuner.tune(QStringLiteral("model.onnx"), images(), m_is->sandbox.path(QStringLiteral("none")));
    QTRY_VERIFY_WITH_TIMEOUT(found.has_value(), test::patience(60'000));
    QVERIFY(!found->chosen);
    QCOMPARE(found->remark, QStringLiteral("no candidate keeps an agreement of 0.99"));
    TuneDialog shown(*found);
    QCOMPARE(shown.findChild<QTableWidget*>()->rowCount(), 2);
    QVERIFY(test::button(&shown, "Use it") == nullptr);
}

void TuneTest::withoutImagesNothingBegins() {
    open();
    window().front().setPaused(true);
    window().tuning().begin();
    QVERIFY(window().message().contains(QStringLiteral("paused")));
    window().front().setPaused(false);
    WatchSettings watch = window().session().services().settings();
    watch.keepsImages = false;
    window().session().setWatch(watch);
    window().tuning().begin();
    QVERIFY(window().message().contains(QStringLiteral("measurements only")));
    QVERIFY(!bar()->busy());
}

MPM_GUI_TEST(TuneTest);
#include "tune_test.moc"
