#include "gui/services/model_converter.hpp"

#include <atomic>
#include <cstdio>
#include <utility>

#include <QFileInfo>
#include <QLocale>

namespace mpm::gui {

namespace {

std::string& converterProgram() {
    static std::string program = "/proc/self/exe";  // this program, even after its file was replaced
    return program;
}

/// Reports missing protections only once, because the same protections are missing for every model.
void reportMissing(const std::vector<std::string>& missing) {
    static std::atomic<bool> reported{false};
    if (missing.empty() || reported.exchange(true)) return;
    for (const std::string& line : missing)
        std::fprintf(stderr, "mpm-monitor: models are converted without %s; resource limits hold\n",
                     line.c_str());
}

}  // namespace

ModelConverter::ModelConverter() : Worker("converter"), m_program(converterProgram()) {}

void ModelConverter::setProgram(const QString& program) {
    converterProgram() = program.toStdString();
}

void ModelConverter::convert(const QString& file, const QString& folder) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_wanted = Wanted{file, folder};
    if (!isRunning()) start();
    m_changed.notify_all();
}

void ModelConverter::cancel() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_wanted.reset();
    if (m_running != nullptr) m_running->stop();
}

void ModelConverter::wake() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    if (m_running != nullptr) m_running->stop();
    m_changed.notify_all();
}

void ModelConverter::work() {
    while (true) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return stopping() || m_wanted; });
        if (stopping()) return;
        const Wanted wanted = *std::exchange(m_wanted, std::nullopt);
        models::ContainedConversion conversion(m_program, m_limits);
        m_running = &conversion;
        lock.unlock();
        post([this, file = wanted.file] { emit started(file); });
        const QString made = wanted.folder + QLatin1Char('/') + QFileInfo(wanted.file).completeBaseName() +
                             QStringLiteral("-mpm.onnx");
        const models::Contained result = conversion.run(wanted.file.toStdString(), made.toStdString());
        lock.lock();
        m_running = nullptr;
        lock.unlock();
        reportMissing(result.missing);
        report(wanted.file, made, result, conversion.limits());
    }
}

void ModelConverter::report(const QString& file, const QString& made, const models::Contained& result,
                            const models::ContainedLimits& limits) {
    using End = models::Contained::End;
    if (result.end == End::Done)
        post([this, file, made] { emit converted(file, made); });
    else if (result.end == End::Stopped)
        post([this, file] { emit cancelled(file); });
    else
        post([this, file, words = messageFor(result, limits)] { emit rejected(file, words); });
}

QString ModelConverter::messageFor(const models::Contained& result, const models::ContainedLimits& limits) {
    using End = models::Contained::End;
    const QString memory = QLocale().formattedDataSize(limits.memory);
    switch (result.end) {
        case End::OutOfMemory:
            return tr("it needs more memory than the %1 allowed here; if the file is yours, use mpm convert "
                      "with --max-memory")
                .arg(memory);
        case End::OutOfTime:
            return tr("it takes longer than the %1 s allowed here; if the file is yours, use mpm convert "
                      "with "
                      "--max-seconds")
                .arg(QLocale().toString(limits.seconds, 'f', 0));
        case End::TooLarge:
            return tr("it would become larger than the %1 allowed here").arg(memory);
        default:
            return QString::fromStdString(result.message);
    }
}

}  // namespace mpm::gui
