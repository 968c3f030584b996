#include "gui/engine/network.hpp"

#include <algorithm>

#include "gui/text/safe_text.hpp"

namespace mpm::gui {

SharedNetwork::SharedNetwork() {
    qRegisterMetaType<ModelFactsPtr>();
    connect(&m_worker, &InferenceWorker::failed, this, &SharedNetwork::networkFailed);
    connect(&m_loader, &ModelLoader::loaded, this, &SharedNetwork::onModel);
    connect(&m_loader, &ModelLoader::failed, this, &SharedNetwork::modelFailed);
    connect(&m_worker, &Worker::crashed, this, &SharedNetwork::networkFailed);
    connect(&m_loader, &Worker::crashed, this, &SharedNetwork::networkFailed);
    m_worker.start();
    m_loader.start();
}

void SharedNetwork::stop() {
    m_loader.stop();
    m_worker.stop();
}

void SharedNetwork::openModel(const QString& model) {
    emit modelLoading(model);
    m_loader.load(model);
}

void SharedNetwork::onModel() {
    auto analyser = m_loader.take();
    if (!analyser) return;
    m_facts = renamed((*analyser)->facts());
    (*analyser)->setFacts(m_facts);
    m_worker.setAnalyser(std::move(*analyser));
    emit modelLoaded(m_facts);
}

void SharedNetwork::setClassNames(const std::map<QString, QStringList>& names) {
    m_names = names;
    if (!m_facts) return;
    m_facts = renamed(m_facts);
    m_worker.setFacts(m_facts);
    emit classesRenamed(m_facts);
}

ModelFactsPtr SharedNetwork::renamed(const ModelFactsPtr& facts) const {
    auto result = std::make_shared<ModelFacts>(*facts);
    result->labels = result->ownLabels;
    const auto found = m_names.find(facts->name);
    if (found == m_names.end()) return result;
    const auto count = std::min(result->labels.size(), static_cast<std::size_t>(found->second.size()));
    for (std::size_t id = 0; id < count; ++id) {
        const QString& name = found->second[static_cast<qsizetype>(id)];
        if (!name.isEmpty()) result->labels[id] = safeName(name.toStdString());
    }
    return result;
}

}  // namespace mpm::gui
