#include "gui/engine/model_loader.hpp"

#include <exception>

#include "gui/text/safe_text.hpp"

namespace mpm::gui {

void ModelLoader::load(const QString& model) {
    change([&] { m_wanted = model; });
}

void ModelLoader::work() {
    while (!stopping()) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return stopping() || m_wanted; });
        if (stopping()) return;
        const QString model = *std::exchange(m_wanted, std::nullopt);
        lock.unlock();
        try {
            std::unique_ptr<Analyser> analyser = loadAnalyser(model.toStdString());
            lock.lock();
            if (m_wanted) continue;  // another model was requested meanwhile
            lock.unlock();
            m_outbox.put(std::move(analyser));
            emit loaded();
        } catch (const std::exception& error) {
            const QString message = safeLines(error.what());
            const bool convertible = dynamic_cast<const UnusableOutput*>(&error) == nullptr;
            post([=] { emit failed(model, message, convertible); });
        }
    }
}

}  // namespace mpm::gui
