// The network that all sources share. A thread runs the network; another thread loads the next network
// meanwhile.
#pragma once

#include <map>

#include "gui/engine/inference_worker.hpp"
#include "gui/engine/model_loader.hpp"

namespace mpm::gui {

class SharedNetwork : public QObject {
    Q_OBJECT
public:
    SharedNetwork();
    ~SharedNetwork() override { stop(); }

    void openModel(const QString& model);
    /// Sets the names of classes, by model and class id; if a name is empty, the class keeps the name
    /// in the model.
    void setClassNames(const std::map<QString, QStringList>& names);
    /// Returns the facts of the model in use; null before the first model.
    const ModelFactsPtr& facts() const { return m_facts; }
    InferenceWorker& worker() { return m_worker; }
    void stop();

signals:
    void modelLoading(const QString& model);
    void modelLoaded(const mpm::gui::ModelFactsPtr& facts);
    /// Emitted if a model cannot be loaded. The previous model, if any, stays in use. `convertible`: whether
    /// mpm convert may make a usable model from the file.
    void modelFailed(const QString& model, const QString& message, bool convertible);
    void networkFailed(const QString& message);
    void classesRenamed(const mpm::gui::ModelFactsPtr& facts);

private:
    void onModel();
    ModelFactsPtr renamed(const ModelFactsPtr& facts) const;

    InferenceWorker m_worker;
    ModelLoader m_loader;
    ModelFactsPtr m_facts;
    std::map<QString, QStringList> m_names;
};

}  // namespace mpm::gui
