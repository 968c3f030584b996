#include "gui/services/model_converter.hpp"

#include <exception>

#include <QDir>
#include <QFileInfo>

#include "models/onnx/convert.hpp"

namespace mpm::gui {

ModelConverter::ModelConverter(QObject* parent) : Worker("converter", parent) {}

ModelConverter::~ModelConverter() {
    finish();
}

void ModelConverter::convert(const QString& file, const QString& folder) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_wanted = Wanted{file, folder};
    if (!isRunning()) start(QThread::LowPriority);
    m_changed.notify_all();
}

void ModelConverter::wake() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_changed.notify_all();
}

void ModelConverter::work() {
    while (true) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return stopping() || m_wanted; });
        if (stopping()) return;
        const Wanted wanted = *std::exchange(m_wanted, std::nullopt);
        lock.unlock();
        try {
            QDir().mkpath(wanted.folder);
            const QString made = wanted.folder + QLatin1Char('/') +
                                 QFileInfo(wanted.file).completeBaseName() + QStringLiteral("-mpm.onnx");
            models::convertModel(wanted.file.toStdString(), made.toStdString(), {});
            tell([this, file = wanted.file, made] { emit converted(file, made); });
        } catch (const std::exception& error) {
            const QString message = QString::fromUtf8(error.what());
            tell([this, file = wanted.file, message] { emit refused(file, message); });
        }
    }
}

}  // namespace mpm::gui
