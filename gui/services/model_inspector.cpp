#include "gui/services/model_inspector.hpp"

#include <exception>
#include <utility>

#include <mpm/mpm.hpp>

#include "base/printable.hpp"
#include "gui/text/safe_text.hpp"
#include "models/onnx/inspect.hpp"

namespace mpm::gui {

namespace {

QString reportOf(const std::string& path) {
    const models::Inspection inspection = models::inspectModel(path);
    std::string text;
    for (const std::string& port : inspection.inputs)
        text += "input      " + printable(port) + '\n';
    for (const std::string& port : inspection.outputs)
        text += "output     " + printable(port) + '\n';
    text += printableLines(describe(inspection.found));
    const ModelInfo info = modelInfo(path);
    std::string labels;
    for (const std::string& label : info.labels)
        labels += (labels.empty() ? "" : ", ") + printable(label, 80);
    if (!labels.empty()) text += "labels     " + std::to_string(info.labels.size()) + ": " + labels + '\n';
    if (!info.sourceSha256.empty()) text += "source     sha256 " + printable(info.sourceSha256, 80) + '\n';
    return QString::fromStdString(text);
}

QString problemOf(const std::string& path) {
    const models::Inspection inspection = models::inspectModel(path);
    return inspection.convertible ? QString() : safeText(inspection.reason);
}

}  // namespace

void ModelInspector::want(const Wanted& wanted) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_wanted = wanted;
    if (!isRunning()) start();
    m_changed.notify_all();
}

void ModelInspector::work() {
    while (true) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return stopping() || m_wanted; });
        if (stopping()) return;
        const auto [path, judges] = *std::exchange(m_wanted, std::nullopt);
        lock.unlock();
        QString report;
        try {
            report = judges ? problemOf(path.toStdString()) : reportOf(path.toStdString());
        } catch (const std::exception& error) {
            report = safeLines(error.what());
        }
        post([this, path = path, judges = judges, report] {
            judges ? emit judged(path, report) : emit inspected(path, report);
        });
    }
}

}  // namespace mpm::gui
