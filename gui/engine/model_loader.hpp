// A thread that loads a model while another model runs.
#pragma once

#include <memory>
#include <optional>

#include "gui/engine/analyser.hpp"
#include "gui/engine/mailbox.hpp"
#include "gui/engine/worker.hpp"

namespace mpm::gui {

class ModelLoader : public Worker {
    Q_OBJECT
public:
    ModelLoader() : Worker("model loader") {}
    ~ModelLoader() override { finish(); }

    /// Begins to load a model. take() returns only the model that was requested most recently.
    void load(const QString& model);
    std::optional<std::unique_ptr<Analyser>> take() { return m_outbox.take(); }

signals:
    void loaded();
    /// `convertible`: whether mpm convert may make a usable model from the file.
    void failed(const QString& model, const QString& message, bool convertible);

protected:
    void work() override;

private:
    std::optional<QString> m_wanted;
    Mailbox<std::unique_ptr<Analyser>> m_outbox;
};

}  // namespace mpm::gui
