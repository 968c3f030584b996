#include "gui/panels/playback_bar.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QSlider>

#include "gui/widgets/elided_label.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

namespace {

constexpr qint64 kSettles = 700;  // milliseconds until reports show the effect of a command
constexpr double kSpeeds[] = {0.25, 0.5, 1, 2, 4, 8};

/// Returns a position as text, such as "1:02:03" or "2:03".
QString positionText(double seconds) {
    const qint64 whole = qint64(seconds);
    const QString rest =
        QStringLiteral("%1:%2").arg(whole / 60 % 60, whole >= 3600 ? 2 : 1, 10, QLatin1Char('0'));
    const QString text = rest.arg(whole % 60, 2, 10, QLatin1Char('0'));
    return whole >= 3600 ? QStringLiteral("%1:").arg(whole / 3600) + text : text;
}

QToolButton* makeButton(const QString& text, const QString& name) {
    QToolButton* button = smallButton(text, name);
    button->setAccessibleName(name);
    return button;
}

}  // namespace

PlaybackBar::PlaybackBar(QWidget* parent)
    : QWidget(parent),
      m_play(makeButton(QStringLiteral("❚❚"), tr("Pause or play (P)"))),
      m_position(new QSlider(Qt::Horizontal)),
      m_time(plainLabel()),
      m_pass(new ElidedLabel),
      m_speed(new QComboBox),
      m_loop(new QCheckBox(tr("Repeat"))) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    auto* back = makeButton(QStringLiteral("◀|"), tr("One frame back (comma)"));
    auto* on = makeButton(QStringLiteral("|▶"), tr("One frame on (full stop)"));
    back->setObjectName(QStringLiteral("stepBack"));
    on->setObjectName(QStringLiteral("stepOn"));
    m_position->setObjectName(QStringLiteral("position"));
    m_position->setAccessibleName(tr("Position in the video"));
    m_pass->setObjectName(QStringLiteral("muted"));
    m_pass->setMinimumWidth(24);
    m_position->setMinimumWidth(60);
    for (const double speed : kSpeeds)
        m_speed->addItem(QStringLiteral("%1×").arg(speed), speed);
    m_speed->setCurrentIndex(2);
    m_speed->setAccessibleName(tr("Speed"));
    m_loop->setChecked(true);
    for (QWidget* widget : std::initializer_list<QWidget*>{back, m_play, on})
        row->addWidget(widget);
    row->addWidget(m_position, 2);
    row->addWidget(m_time);
    row->addWidget(m_pass, 1);
    for (QWidget* widget : std::initializer_list<QWidget*>{m_speed, m_loop})
        row->addWidget(widget);
    connect(m_play, &QToolButton::clicked, this, [this] { emit pauseWanted(!m_paused); });
    connect(back, &QToolButton::clicked, this, [this] { emit stepWanted(-1); });
    connect(on, &QToolButton::clicked, this, [this] { emit stepWanted(1); });
    connect(m_position, &QSlider::valueChanged, this, [this](int frame) {
        m_sinceSeek.start();
        showTime(frame);
        emit commanded([frame](pipeline::Reader& reader) { reader.seek(frame); });
    });
    connect(m_speed, &QComboBox::activated, this, [this] {
        m_sinceSeek.start();
        const double speed = m_speed->currentData().toDouble();
        emit commanded([speed](pipeline::Reader& reader) { reader.setSpeed(speed); });
    });
    connect(m_loop, &QCheckBox::toggled, this, [this](bool loop) {
        m_sinceSeek.start();
        emit commanded([loop](pipeline::Reader& reader) { reader.setLoop(loop); });
    });
    hide();
}

void PlaybackBar::setReport(const SourceReport& report, bool paused) {
    const pipeline::SourceStatus& status = report.status;
    const bool film = pipeline::traitsOf(report.kind).seekable && status.length > 1;
    setVisible(film && !window()->isFullScreen());
    if (!film) return;
    m_paused = paused || status.held;
    m_play->setText(m_paused ? QStringLiteral("▶") : QStringLiteral("❚❚"));
    m_rate = status.rate;
    if (m_position->isSliderDown() || (m_sinceSeek.isValid() && !m_sinceSeek.hasExpired(kSettles))) return;
    const QSignalBlocker block(m_position), blockLoop(m_loop);
    m_loop->setChecked(status.repeats);
    m_speed->setCurrentIndex(m_speed->findData(status.speed));
    m_position->setMaximum(int(std::min<std::int64_t>(status.length - 1, INT_MAX)));
    m_position->setValue(int(std::clamp<std::int64_t>(status.position, 0, INT_MAX)));
    showTime(m_position->value());
}

void PlaybackBar::showTime(qint64 frame) {
    const qint64 last = m_position->maximum();
    m_time->setText(m_rate > 0 ? tr("%1 / %2").arg(positionText(double(frame) / m_rate),
                                                   positionText(double(last) / m_rate))
                               : tr("%1 / %2").arg(frame).arg(last));
}

void PlaybackBar::add(const pipeline::Measurement& measurement) {
    const bool samePass = std::exchange(m_passShown, measurement.pass) == measurement.pass;
    const bool sameSetup = std::exchange(m_setup, measurement.setup) == measurement.setup;
    if (!samePass || !sameSetup) m_kept = {};
    m_kept.add(measurement.tokensComputed());
    m_pass->setText((measurement.recomputed ? tr("pass %1: %2 ± %3 tokens computed, %4 frames")
                                            : tr("pass %1: %2 ± %3 tokens kept, %4 frames"))
                        .arg(measurement.pass + 1)
                        .arg(m_kept.mean(), 0, 'f', 0)
                        .arg(m_kept.deviation(), 0, 'f', 0)
                        .arg(m_kept.count()));
}

void PlaybackBar::clear() {
    m_kept = {};
    m_passShown = -1;
    m_pass->clear();
    hide();
}

}  // namespace mpm::gui
