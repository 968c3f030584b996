#include "gui/engine/worker.hpp"

#include <exception>

namespace mpm::gui {

Worker::Worker(const char* name, QObject* parent) : QThread(parent) {
    setObjectName(QLatin1String(name));
}

Worker::~Worker() {
    Q_ASSERT(!isRunning());
}

void Worker::stop() {
    m_stopping = true;
    wake();
}

void Worker::finish() {
    stop();
    wait();
}

void Worker::run() {
    try {
        work();
    } catch (const std::exception& error) {
        emit broke(QString::fromUtf8(error.what()));
    }
}

}  // namespace mpm::gui
