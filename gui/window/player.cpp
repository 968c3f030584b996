#include "gui/window/player.hpp"

#include <QFileInfo>
#include <QShortcut>
#include <QVBoxLayout>

#include "gui/panels/playback_bar.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/text/source_text.hpp"
#include "gui/views/image_view.hpp"

namespace mpm::gui {

Player::Player(const QString& file, const QString& title, QWidget* parent)
    : QDialog(parent),
      m_view(new ImageView(title, &m_viewport)),
      m_bar(new PlaybackBar),
      m_capture(
          pipeline::Address(file.toStdString()), safeText(QFileInfo(file).fileName()), 1,
          [](const LiveFrame&) {}, CaptureWorker::sceneOptions(0)) {
    setWindowTitle(tr("Recording: %1").arg(safeText(QFileInfo(file).completeBaseName())));
    setWindowFlag(Qt::WindowMaximizeButtonHint);
    m_view->setEmptyText(tr("Waiting for the first image"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->addWidget(m_view, 1);
    layout->addWidget(m_bar);
    resize(760, 440);
    connect(&m_capture, &CaptureWorker::frameReady, this, [this] {
        const std::optional<LiveFrame> frame = m_capture.takeFrame();
        if (frame) m_view->setImage(frame->image);
    });
    connect(&m_capture, &CaptureWorker::reported, this, &Player::onReport);
    connect(m_bar, &PlaybackBar::pauseWanted, this, &Player::setPaused);
    connect(m_bar, &PlaybackBar::stepWanted, this, [this](int direction) {
        setPaused(true);
        m_capture.command([direction](pipeline::Reader& reader) { reader.step(direction); });
    });
    connect(m_bar, &PlaybackBar::commanded, &m_capture, &CaptureWorker::command);
    addKeys();
    m_capture.start();
}

Player::~Player() {
    m_capture.disconnect(this);
    m_capture.finish();
}

/// Adds the shortcuts that the tool tips of the playback bar mention.
void Player::addKeys() {
    const auto key = [this](Qt::Key keys, auto action) {
        connect(new QShortcut(keys, this), &QShortcut::activated, this, action);
    };
    key(Qt::Key_P, [this] { setPaused(!m_paused); });
    key(Qt::Key_Comma, [this] { emit m_bar->stepWanted(-1); });
    key(Qt::Key_Period, [this] { emit m_bar->stepWanted(1); });
}

void Player::setPaused(bool paused) {
    m_paused = paused;
    m_capture.setPaused(paused);
    m_bar->setReport(m_report, paused);
}

void Player::onReport(const SourceReport& report) {
    m_report = report;
    m_bar->setReport(report, m_paused);
    if (report.status.state == pipeline::SourceState::Failed)
        m_view->setCover({tr("This recording cannot be played"), sourceProblemText(report.status.problem)});
}

}  // namespace mpm::gui
