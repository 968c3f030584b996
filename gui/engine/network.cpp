#include "gui/engine/network.hpp"

namespace mpm::gui {

SharedNetwork::SharedNetwork(QObject* parent) : QObject(parent) {
    qRegisterMetaType<ModelFactsPtr>();
    connect(&m_worker, &InferenceWorker::failed, this, &SharedNetwork::networkFailed);
    connect(&m_loader, &ModelLoader::loaded, this, &SharedNetwork::onModel);
    connect(&m_loader, &ModelLoader::failed, this, &SharedNetwork::modelFailed);
    connect(&m_worker, &Worker::crashed, this, &SharedNetwork::networkFailed);
    connect(&m_loader, &Worker::crashed, this, &SharedNetwork::networkFailed);
    m_worker.start();
    m_loader.start();
}

SharedNetwork::~SharedNetwork() {
    stop();
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
    m_facts = (*analyser)->facts();
    m_worker.setAnalyser(std::move(*analyser));
    emit modelLoaded(m_facts);
}

}  // namespace mpm::gui
