// The model in the window: recent models, description, names of classes, and confidence.
#include <QMenuBar>
#include <QTest>

#include "gui/dialogs/model_dialog.hpp"
#include "gui/registry.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;

class ModelTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void recentModelsComeBack();
    void describedAsByTheCommandLine();
    void classesAreRenamed();
    void aLateAnalysisAddsNoClasses();
    void unsureClassesFade();
    void aScheduleOutlivesASmallerModel();

private:
    MainWindow& window() { return *m_is->window; }
    /// Returns the entries of the submenu of recent models.
    QStringList recent() {
        QStringList names;
        for (QMenu* menu : window().menuBar()->findChildren<QMenu*>())
            if (menu->title() == QStringLiteral("&Recent models")) {
                emit menu->aboutToShow();
                for (const QAction* action : menu->actions())
                    names << action->text().section(QLatin1Char('/'), -1);
            }
        return names;
    }
    std::unique_ptr<test::WindowFixture> m_is;
};

void ModelTest::recentModelsComeBack() {
    m_is->open();
    QVERIFY(m_is->next());
    QCOMPARE(recent(), QStringList{QStringLiteral("none yet")});
    const QString shipped = QStringLiteral(MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx");
    for (const char* name : {"one.onnx", "two.onnx", "one.onnx"}) {
        const QString file = m_is->sandbox.path(QLatin1String(name));
        if (!QFile::exists(file)) QVERIFY(QFile::copy(shipped, file));
        window().model().open(file);
        QVERIFY(m_is->nextWhere([&file](const Analysis& a) { return a.model->path == file; }));
    }
    const QStringList both{QStringLiteral("one.onnx"), QStringLiteral("two.onnx")};
    QCOMPARE(recent(), both);
    window().close();
    m_is->open();
    QCOMPARE(recent(), both);
}

void ModelTest::describedAsByTheCommandLine() {
    m_is->open();
    QVERIFY(m_is->next());
    window().model().describe();
    auto* dialog = window().findChild<ModelDialog*>();
    QVERIFY(dialog != nullptr);
    QTRY_VERIFY_WITH_TIMEOUT(dialog->report().contains(QStringLiteral("GFLOPs an image")),
                             test::patience(20'000));
    for (const char* words : {"input f32 [1, 3, 480, 640]", "12 blocks, width 192", "11: sky, building"})
        QVERIFY2(dialog->report().contains(QLatin1String(words)), qPrintable(dialog->report()));
}

void ModelTest::classesAreRenamed() {
    m_is->open();
    QVERIFY(m_is->next());
    LegendModel& legend = window().models().legend;
    const QModelIndex first = legend.index(0, LegendModel::Name);
    QVERIFY(first.flags() & Qt::ItemIsEditable);
    QCOMPARE(legend.name(0), QStringLiteral("sky"));
    QVERIFY(legend.setData(first, QStringLiteral(" heaven\u202e "), Qt::EditRole));
    QVERIFY2(legend.name(0).startsWith(QStringLiteral("heaven")), qPrintable(legend.name(0)));
    QVERIFY(!legend.name(0).contains(QChar(0x202E)));  // this character reverses the text that follows
    QVERIFY(legend.setData(first, QStringLiteral("heaven"), Qt::EditRole));
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.model->labels[0] == "heaven"; }));
    QCOMPARE(m_is->last->model->labels[1], std::string("building"));
    window().close();
    m_is->open();
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return a.model->labels[0] == "heaven"; }));
    QCOMPARE(window().models().legend.name(0), QStringLiteral("heaven"));
    // An empty name restores the model's name.
    LegendModel& again = window().models().legend;
    QVERIFY(again.setData(again.index(0, LegendModel::Name), QString(), Qt::EditRole));
    QCOMPARE(again.name(0), QStringLiteral("sky"));
}

/// An analysis by the previous model may arrive after the next model is loaded.
void ModelTest::aLateAnalysisAddsNoClasses() {
    m_is->open();
    mpm::pipeline::Measurement measurement;
    connect(&window().engine(), &Engine::measured, &window(),
            [&](const auto& values, const AnalysisPtr&) { measurement = values; });
    const AnalysisPtr late = m_is->next();
    QVERIFY(late);
    const mpm::pipeline::Measurement before = measurement;
    const QString small = *m_is->withModel({}).model;
    window().model().open(small);
    QVERIFY(m_is->nextWhere([&](const Analysis& a) { return a.model->path == small; }));
    QCOMPARE(window().models().legend.rowCount(), 3);
    emit window().engine().measured(before, late);
    QCOMPARE(window().models().legend.rowCount(), 3);
}

void ModelTest::unsureClassesFade() {
    m_is->open();
    QVERIFY(m_is->next());
    window().front().setPaused(true);
    QVERIFY(m_is->settle());
    const QImage plain = m_is->overlay;
    QTest::keyClick(&window(), Qt::Key_C);
    QVERIFY(m_is->nextWhere([](const Analysis& a) { return !a.merged.scores.empty(); }));
    QTRY_VERIFY_WITH_TIMEOUT(m_is->overlay != plain, test::patience(10'000));
    QTest::keyClick(&window(), Qt::Key_C);
    QTRY_VERIFY_WITH_TIMEOUT(m_is->overlay == plain, test::patience(10'000));
}

void ModelTest::aScheduleOutlivesASmallerModel() {
    const std::vector<int> chosen{2, 9}, shorter{2};
    const auto uses = [this](const std::vector<int>& schedule) {
        return m_is->nextWhere([&](const Analysis& a) { return a.schedule == schedule; }) != nullptr;
    };
    Options options;
    options.model = QStringLiteral("default");
    m_is->open(options);
    QVERIFY(m_is->next());
    window().models().schedule.setSchedule(chosen);
    QVERIFY(uses(chosen));
    m_is->open(m_is->withModel({}));
    QVERIFY(uses(shorter));  // six blocks
    QCOMPARE(window().models().schedule.schedule(), shorter);
    m_is->open(options);
    QVERIFY(uses(chosen));
    QCOMPARE(window().models().schedule.schedule(), chosen);
}

MPM_GUI_TEST(ModelTest);
#include "model_test.moc"
