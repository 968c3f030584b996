// A window with a film from a temporary folder. Tests wait for the analysis of the next frame.
#pragma once

#include <memory>

#include <QPushButton>
#include <QTest>

#include "cli/small_model.hpp"
#include "gui/support.hpp"
#include "gui/window/main_window.hpp"

namespace mpm::gui::test {

/// Returns the button with these words, or null.
inline QPushButton* button(QWidget* in, const char* words) {
    for (QPushButton* candidate : in->findChildren<QPushButton*>())
        if (candidate->text().remove(QLatin1Char('&')) == QLatin1String(words)) return candidate;
    return nullptr;
}

class WindowFixture {
public:
    /// Opens a window. First closes the previous window as a user would, so that it saves its settings.
    void open(const Options& extra = {}) {
        Options options = extra;
        if (!options.source) options.source = sandbox.film(4, 4);
        if (options.size.isEmpty()) options.size = QSize(1280, 720);
        if (window) window->close();
        last.reset();
        window.reset();
        window = std::make_unique<MainWindow>(options);
        MainWindow* context = window.get();
        QObject::connect(&window->engine(), &Engine::measured, context,
                         [this](const auto&, const AnalysisPtr& analysis) {
                             last = analysis;
                             ++count;
                         });
        QObject::connect(&window->engine(), &Engine::rendered, context, [this](const RenderedFrame& drawn) {
            overlay = drawn.overlay;
            drawnNumber = drawn.analysis->frame.number;
        });
        QObject::connect(&window->engine(), &Engine::framed, context,
                         [this](const LiveFrame& frame) { shownNumber = frame.number; });
        window->show();
        QVERIFY(QTest::qWaitForWindowExposed(window.get()));
        window->activateWindow();  // without a window manager, an X server gives no window the keyboard
        QVERIFY(QTest::qWaitForWindowActive(window.get()));
    }

    /// Writes this model to a file, and returns options that open the file.
    Options withModel(const mpm::test::SmallModel& small) const {
        Options options;
        options.model = sandbox.path(QStringLiteral("model.onnx"));
        mpm::test::writeSmallModel(options.model->toStdString(), small);
        return options;
    }

    /// Returns the first analysis that fulfils a condition; null if there is none within half a minute.
    template <typename Until>
    AnalysisPtr nextWhere(Until until) {
        return QTest::qWaitFor([&] { return last && until(*last); }, patience(30'000)) ? last : nullptr;
    }

    /// Returns the second analysis from now: all earlier requests have taken effect by then.
    AnalysisPtr next() {
        const int before = count;
        return nextWhere([&](const Analysis&) { return count > before + 1; });
    }

    /// After a pause, waits until the newest frame is analysed and drawn in all views.
    bool settle() {
        QTest::qWait(300);  // an analysis may have been in progress
        return QTest::qWaitFor(
            [this] { return last && last->frame.number == shownNumber && drawnNumber == shownNumber; },
            patience(30'000));
    }

    Sandbox sandbox;
    AnalysisPtr last;
    std::int64_t shownNumber = -1, drawnNumber = -1;
    QImage overlay;
    int count = 0;
    std::unique_ptr<MainWindow> window;  // last member: destroyed first
};

}  // namespace mpm::gui::test
