#include "gui/models/health_model.hpp"

#include "gui/text/numbers.hpp"
#include "gui/text/plain_text.hpp"
#include "pipeline/segment/names.hpp"

#include <QDateTime>

namespace mpm::gui {

namespace {

QString clockText(System::time_point time) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
    const QDateTime local = QDateTime::fromMSecsSinceEpoch(ms);
    const bool today = local.date() == QDate::currentDate();
    return local.toString(today ? QStringLiteral("HH:mm:ss") : QStringLiteral("yyyy-MM-dd HH:mm"));
}

QString deviceText(const pipeline::Segmentation& found) {
    const QString device = found.device == mpm::Device::Cuda ? QStringLiteral("CUDA") : QStringLiteral("CPU");
    return device + QStringLiteral(", ") + QString::fromStdString(pipeline::precisionName(found.precision));
}

}  // namespace

QString sourceStateText(const SourceReport& report) {
    const pipeline::SourceStatus& status = report.status;
    const pipeline::SourceTraits traits = pipeline::traitsOf(report.kind);
    using State = pipeline::SourceState;
    switch (status.state) {
        case State::Connecting:
            return HealthModel::tr("connecting");
        case State::Live:
            return status.live    ? HealthModel::tr("live")
                   : traits.scene ? HealthModel::tr("built-in scene")
                   : traits.seekable && status.passes > 0
                       ? HealthModel::tr("playing, pass %1").arg(status.passes + 1)
                       : HealthModel::tr("playing");
        case State::Stalled:
            return HealthModel::tr("stalled since %1").arg(clockText(status.since));
        case State::Retrying:
            return HealthModel::tr("retrying in %1 s").arg((status.nextAttempt.count() + 999) / 1000);
        case State::Offline:
            return HealthModel::tr("offline since %1").arg(clockText(status.since));
        case State::Ended:
            return HealthModel::tr("ended");
        case State::Failed:
            return HealthModel::tr("failed");
    }
    return {};
}

HealthModel::Level sourceLevel(const SourceReport& report) {
    switch (report.status.state) {
        case pipeline::SourceState::Live:
            return HealthModel::Good;
        case pipeline::SourceState::Failed:
        case pipeline::SourceState::Offline:
            return HealthModel::Bad;
        default:
            return HealthModel::Warning;
    }
}

HealthModel::HealthModel() {
    for (Entry& entry : m_entries)
        entry.text = QStringLiteral("–");
}

QVariant HealthModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Entry& entry = m_entries[index.row()];
    const QString names[] = {tr("Source"),  tr("Image age"), tr("Capture"),        tr("Queue"),
                             tr("Prepare"), tr("Network"),   tr("of it, merging"), tr("Labels"),
                             tr("Draw"),    tr("Display"),   tr("Rate"),           tr("Dropped"),
                             tr("Device"),  tr("Processor"), tr("Model"),          tr("Store")};
    switch (role) {
        case Qt::DisplayRole:
            return names[index.row()];
        case ValueRole:
            return entry.text;
        case Qt::AccessibleTextRole:
            return names[index.row()] + QStringLiteral(": ") + entry.text;
        case Qt::ToolTipRole:
            return plainToolTip(entry.text);
        case LevelRole:
            return entry.level;
        default:
            return {};
    }
}

void HealthModel::set(Row row, const QString& text, Level level) {
    Entry& entry = m_entries[row];
    if (entry.text == text && entry.level == level) return;
    entry = {text, level};
    emit dataChanged(index(row), index(row));
}

void HealthModel::setTime(Row row, double ms) {
    m_entries[row] = {tr("%1 ms").arg(readableMs(ms)), Good};
    emit dataChanged(index(row), index(row));
}

void HealthModel::clear() {
    for (int row = Source; row <= DroppedRow; ++row)
        set(static_cast<Row>(row), QStringLiteral("–"));
    m_report = {};
    m_skipped = 0;
}

void HealthModel::setSource(const SourceReport& report) {
    if (report.generation != m_report.generation) m_skipped = 0;
    m_report = report;
    set(Source, sourceStateText(report), sourceLevel(report));
    const auto& status = report.status;
    const std::int64_t lost = status.dropped + m_skipped;
    QString text = tr("%1 of %2").arg(lost).arg(status.frames);
    if (status.dropped > 0 && m_skipped > 0)
        text += tr(" (%1 network, %2 capture)").arg(m_skipped).arg(status.dropped);
    else if (lost > 0)
        text += m_skipped > 0 ? tr(" (network busy)") : tr(" (capture busy)");
    if (status.bad > 0) text += tr(", %1 unreadable").arg(status.bad);
    set(DroppedRow, text, status.bad > 0 ? Warning : Good);
    updateAge();
}

void HealthModel::updateAge() {
    const System::time_point last = m_report.status.lastFrame;
    if (last == System::time_point{}) return set(Age, tr("no image yet"), Warning);
    const double seconds = std::chrono::duration<double>(System::now() - last).count();
    set(Age, tr("%1 s").arg(readable(std::max(0.0, seconds), seconds < 10 ? 1 : 0)),
        m_report.current() ? Good : Bad);
}

void HealthModel::updateProcessor() {
    const Processor::State state = m_processor.read();
    QString text = state.celsius ? tr("%1 °C").arg(*state.celsius, 0, 'f', 0) : QStringLiteral("–");
    if (state.throttled) text += tr(", throttled");
    if (state.underVoltage) text += tr(", too little voltage");
    if (!state.known()) text = tr("not reported by the system");
    set(ProcessorRow, text, state.throttled || state.underVoltage ? Warning : Good);
}

void HealthModel::setAnalysis(const pipeline::Measurement& measurement, const Analysis& analysis) {
    setTime(Capture, measurement.captureMs);
    setTime(Queue, analysis.queueMs);
    setTime(Prepare, analysis.merged.prepareMs);
    setTime(Network, analysis.merged.networkMs);
    setTime(Merge, analysis.merged.encoder.merge);
    setTime(Labels, analysis.merged.labelsMs);
    set(Device, deviceText(analysis.merged));
    m_skipped += analysis.skipped;
}

void HealthModel::setDraw(double drawMs, double displayMs) {
    setTime(Draw, drawMs);
    setTime(Display, displayMs);
}

void HealthModel::setRates(double analysed, double captured) {
    set(Rate, tr("%1 of %2 a second").arg(readable(analysed, 1), readable(captured, 1)));
}

}  // namespace mpm::gui
