// A window on pictures of its own, and waiting for what the next frame brings.
#pragma once

#include <memory>

#include <QTest>

#include "gui/support.hpp"
#include "gui/window/main_window.hpp"

namespace mpm::gui::test {

class WindowFixture {
public:
    void open(const Options& extra = {}) {
        Options options = extra;
        if (!options.source) options.source = sandbox.pictures(2, 2);
        if (options.size.isEmpty()) options.size = QSize(1280, 720);
        last.reset();
        window.reset();
        window = std::make_unique<MainWindow>(options);
        MainWindow* context = window.get();
        QObject::connect(&window->engine(), &Engine::measured, context,
                         [this](const auto&, const AnalysisPtr& analysis) {
                             last = analysis;
                             ++count;
                         });
        QObject::connect(&window->engine(), &Engine::rendered, context,
                         [this](const RenderedFrame& drawn) { overlay = drawn.overlay; });
        window->show();
        QVERIFY(QTest::qWaitForWindowExposed(window.get()));
    }

    /// The first analysis that fulfils a condition; null after half a minute without.
    template <typename Until>
    AnalysisPtr nextWhere(Until until) {
        return QTest::qWaitFor([&] { return last && until(*last); }, 30'000) ? last : nullptr;
    }

    /// The analysis after the next one: what was asked for before surely counted.
    AnalysisPtr next() {
        const int before = count;
        return nextWhere([&](const Analysis&) { return count > before + 1; });
    }

    Sandbox sandbox;
    AnalysisPtr last;
    QImage overlay;
    int count = 0;
    std::unique_ptr<MainWindow> window;  // last: goes first
};

}  // namespace mpm::gui::test
