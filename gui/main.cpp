// mpm-monitor: watches a fixed scene by day and by night.
#include <cstdio>
#include <memory>
#include <utility>

#include <QBuffer>
#include <QFileInfo>
#include <QLocale>
#include <QTimer>

#include <opencv2/core/utils/logger.hpp>

#include "base/one_heap.hpp"
#include "base/private_files.hpp"
#include "gui/engine/whole_file.hpp"
#include "gui/headless/headless.hpp"
#include "gui/session/options.hpp"
#include "gui/session/unix_signals.hpp"
#include "gui/text/numbers.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/text/translations.hpp"
#include "gui/window/application.hpp"
#include "gui/window/main_window.hpp"
#include "models/onnx/contained.hpp"
#include "pipeline/source/address.hpp"
#include "pipeline/source/video_file.hpp"

namespace {

/// Writes an image of the window and exits with 0, or with 1 if the image cannot be written.
void writeScreenshot(mpm::gui::MainWindow& window, const QString& file) {
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    const QByteArray form = QFileInfo(file).suffix().toLatin1();
    const bool written =
        window.grab().save(&bytes, form.constData()) && mpm::gui::writeWhole(file, bytes.data());
    if (!written)
        std::fprintf(
            stderr,
            "mpm-monitor: --screenshot %s: cannot be written; name a .png file in a folder that exists\n",
            qUtf8Printable(mpm::gui::safeText(file)));
    window.close();
    QCoreApplication::exit(written ? 0 : 1);
}

/// Writes the screenshot as soon as image and overlay show the same frame, but not before `options.after`
/// seconds. After 20 more seconds, writes the screenshot in any case.
void scheduleScreenshot(mpm::gui::MainWindow& window, const mpm::gui::Options& options) {
    constexpr int kLatest = 20'000;  // milliseconds
    const int after = static_cast<int>(options.after * 1000);
    struct State {
        std::int64_t frame = -1;
        bool done = false;
    };
    auto state = std::make_shared<State>();
    const auto write = [&window, file = options.screenshot, state] {
        if (!std::exchange(state->done, true)) writeScreenshot(window, file);
    };
    auto* due = new QTimer(&window);
    due->setSingleShot(true);
    due->start(after);
    QObject::connect(&window.engine(), &mpm::gui::Engine::framed, due,
                     [state](const mpm::gui::LiveFrame& live) { state->frame = live.number; });
    QObject::connect(&window.engine(), &mpm::gui::Engine::rendered, due,
                     [due, state, write](const mpm::gui::RenderedFrame& drawn) {
                         // The views show the overlay only in the next turn of the event loop.
                         if (!due->isActive() && drawn.analysis->frame.number == state->frame)
                             QTimer::singleShot(0, due, write);
                     });
    QTimer::singleShot(after + kLatest, due, write);
}

}  // namespace

int main(int argc, char** argv) {
    // This check is first, because a child process that converts a model needs no window, D-Bus or profile.
    if (mpm::models::isContainedCall(argc, argv)) return mpm::models::containedMain(argc, argv);
    mpm::createFilesPrivately();
    mpm::useOneHeap();
    mpm::pipeline::prepareFfmpeg();
    // OpenCV's log is off because it would contain a camera's address. The window or stderr shows errors.
    if (!qEnvironmentVariableIsSet("OPENCV_LOG_LEVEL"))
        cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    QCoreApplication::setApplicationName(QStringLiteral("mpm-monitor"));
    QGuiApplication::setDesktopFileName(QStringLiteral("mpm-monitor"));
    QStringList arguments;
    for (int i = 0; i < argc; ++i)
        arguments << QString::fromLocal8Bit(argv[i]);
    // Options are parsed before the QApplication exists, because --help must not need a display.
    const mpm::gui::ParsedOptions parsed = mpm::gui::parseOptions(arguments, mpm::gui::viewKeys());
    if (parsed.exit >= 0) {
        // Masks passwords, because an error message quotes the invalid argument, which may be an address.
        const std::string message = parsed.message.trimmed().toStdString();
        const std::string line =
            parsed.exit == 0 ? message : mpm::printable(mpm::pipeline::redacted(message), 1000);
        std::fprintf(parsed.exit == 0 ? stdout : stderr, "%s\n", line.c_str());
        return parsed.exit;
    }
    if (parsed.options.headless) return mpm::gui::runHeadless(argc, argv, parsed.options);
    const auto application = mpm::gui::makeApplication(argc, argv);
    mpm::gui::setNumericLocale();
    mpm::gui::installTranslations(*application, QLocale());
    mpm::gui::ProfileWindow shown(parsed.options);
    mpm::gui::UnixSignals signals_;
    QObject::connect(&signals_, &mpm::gui::UnixSignals::endWanted, &shown, [&shown] {
        shown.window().close();
        QCoreApplication::quit();  // an open dialog would keep the application running
    });
    if (!parsed.options.screenshot.isEmpty()) scheduleScreenshot(shown.window(), parsed.options);
    return QApplication::exec();
}
