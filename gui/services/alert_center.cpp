#include "gui/services/alert_center.hpp"

#include <algorithm>

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QProcess>
#include <QVariantMap>

#include "base/descriptors.hpp"
#include "base/private_files.hpp"
#include "gui/services/secrets.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

/// Returns whether the source is neither live nor ended; nothing if the engine is paused or has no source.
std::optional<bool> isDown(const Engine& engine) {
    using State = pipeline::SourceState;
    if (engine.paused() || engine.sourceName().isEmpty()) return std::nullopt;
    const State state = engine.report().status.state;
    return state != State::Live && state != State::Ended;
}

constexpr std::size_t kMostCutOuts = 100;
constexpr std::size_t kMostRaised = 2 * pipeline::AlertWatch::kMostRules;
constexpr std::chrono::seconds kCutOutEvery{1};
constexpr qint64 kMostAhead = 1'000;  // ms; a notice's time may be this far ahead of the clock

/// Returns the image of the object, with a margin of a fifth of the object's size.
QImage cutOutOf(const QImage& image, const cv::Rect2f& box) {
    const QRectF object(double(box.x), double(box.y), double(box.width), double(box.height));
    const double margin = std::max(4.0, 0.2 * std::max(object.width(), object.height()));
    return image.copy(object.adjusted(-margin, -margin, margin, margin).toAlignedRect() & image.rect());
}

/// Returns a value as text. Shares and luminance are in percent, with up to four digits.
QString numberText(const pipeline::AlertRule& rule, double value) {
    using Unit = pipeline::AlertUnit;
    const Unit unit = pipeline::unitOf(rule.of);
    if (unit == Unit::Count) return QString::number(value, 'f', 0);
    if (unit == Unit::Seconds) return AlertCenter::tr("%1 s").arg(value, 0, 'f', value < 10 ? 1 : 0);
    return QString::number(100 * value, 'g', 4) + QStringLiteral(" %");
}

QDBusMessage callDesktop(const char* method) {
    return QDBusMessage::createMethodCall(
        QStringLiteral("org.freedesktop.Notifications"), QStringLiteral("/org/freedesktop/Notifications"),
        QStringLiteral("org.freedesktop.Notifications"), QLatin1String(method));
}

}  // namespace

pipeline::AlertInput alertInput(const QString& source, const pipeline::Measurement& measurement,
                                const ModelFacts& facts) {
    pipeline::AlertInput input;
    input.source = safeName(source.toStdString());
    input.hour = QDateTime::fromMSecsSinceEpoch(measurement.time.count()).time().hour();
    input.tokens = measurement.tokensKept();
    input.luminance = measurement.luminance;
    input.labels = facts.labels;
    input.ownLabels = facts.ownLabels;
    // Uses LegendModel's translation of this text. If the context were a literal here, lupdate would list the
    // text a second time.
    const char* const legend = "mpm::gui::LegendModel";
    for (std::size_t id = facts.labels.size(); id < measurement.classShares.size(); ++id)
        input.labels.push_back(QCoreApplication::translate(legend, "class %1").arg(id).toStdString());
    input.classShares = measurement.classShares;
    input.regions = measurement.regions;
    if (measurement.objects) input.objectCounts = measurement.objectCounts;
    return input;
}

int timesFired(const pipeline::AlertRule& rule, const QString& source,
               const std::vector<pipeline::Measurement>& readings, const ModelFacts& facts) {
    pipeline::AlertWatch watch;
    watch.setRules({rule});
    int times = 0;
    for (const pipeline::Measurement& reading : readings) {
        const auto now = pipeline::AlertWatch::Clock::time_point(reading.time);
        times += static_cast<int>(watch.update(alertInput(source, reading, facts), now).size());
    }
    return times;
}

QString describeAlert(const pipeline::AlertRule& rule, double value) {
    using Of = pipeline::AlertRule::Of;
    if (rule.of == Of::SourceDown) return AlertCenter::tr("the source is down");
    const QString what = rule.of == Of::Tokens      ? AlertCenter::tr("tokens")
                         : rule.of == Of::Luminance ? AlertCenter::tr("luminance")
                         : rule.label.empty()       ? AlertCenter::tr("objects")
                                                    : QString::fromStdString(safeName(rule.label));
    const QString where = rule.region.empty()
                              ? QString()
                              : AlertCenter::tr(" in %1").arg(QString::fromStdString(safeName(rule.region)));
    const QString sentence =
        rule.of == Of::ObjectStays  ? rule.above ? AlertCenter::tr("%1%2 for more than %3: %4")
                                                 : AlertCenter::tr("%1%2 for less than %3: %4")
         : rule.of == Of::ObjectLeft ? rule.above ? AlertCenter::tr("%1%2 left after more than %3: %4")
                                                  : AlertCenter::tr("%1%2 left after less than %3: %4")
         : rule.above ? AlertCenter::tr("%1%2 above %3: %4")
                                    : AlertCenter::tr("%1%2 below %3: %4");
    return sentence.arg(what, where, numberText(rule, rule.threshold), numberText(rule, value));
}

void notifyDesktop(const QString& title, const QString& text) {
    // Escapes the text, unless the desktop answers that it does not interpret markup.
    auto* asked =
        new QDBusPendingCallWatcher(QDBusConnection::sessionBus().asyncCall(callDesktop("GetCapabilities")));
    QObject::connect(asked, &QDBusPendingCallWatcher::finished, asked, [asked, title, text] {
        const QDBusPendingReply<QStringList> can = *asked;
        const bool plain = can.isValid() && !can.value().contains(QStringLiteral("body-markup"));
        QDBusMessage call = callDesktop("Notify");
        call.setArguments({QStringLiteral("MPM Monitor"), 0u, QStringLiteral("mpm-monitor"), title,
                           plain ? text : text.toHtmlEscaped(), QStringList(), QVariantMap(), -1});
        QDBusConnection::sessionBus().send(call);
        asked->deleteLater();
    });
}

AlertCenter::AlertCenter(Engine& engine) : m_engine(engine) {
    qRegisterMetaType<AlertNotice>();
    connect(&engine, &Engine::measured, this, &AlertCenter::onMeasured);
    connect(&m_clock, &QTimer::timeout, this, &AlertCenter::onClock);
    m_clock.start(500);
}

void AlertCenter::onMeasured(const pipeline::Measurement& measurement, const AnalysisPtr& analysis) {
    if (analysis->repeat) return;
    keepCutOuts(*analysis);
    pipeline::AlertInput input = alertInput(m_engine.sourceName(), measurement, *analysis->model);
    if (analysis->objects)
        input.objects.emplace(analysis->objects->objects.begin(), analysis->objects->objects.end());
    look(input);
}

/// Keeps an image of each object, because an object may have left the frame before its alert is raised.
void AlertCenter::keepCutOuts(const Analysis& analysis) {
    const auto& rules = m_watch.rules();
    const bool wanted = std::any_of(rules.begin(), rules.end(),
                                    [](const auto& rule) { return pipeline::isOfObjects(rule.of); });
    if (!wanted || !analysis.objects || analysis.frame.image.isNull()) return m_cutOuts.clear();
    std::map<std::int64_t, CutOut> kept;
    const Steady::time_point now = Steady::now();
    for (const pipeline::TrackedObject& one : analysis.objects->objects) {
        if (kept.size() >= kMostCutOuts) break;
        const auto before = m_cutOuts.find(one.id);
        const bool fresh = before == m_cutOuts.end();
        if (!fresh && (!one.seen || now - before->second.time < kCutOutEvery))
            kept[one.id] = std::move(before->second);
        else if (one.seen)
            kept[one.id] = {cutOutOf(analysis.frame.image, one.box), now};
    }
    for (const std::int64_t id : m_watch.waiting())
        if (const auto before = m_cutOuts.find(id); before != m_cutOuts.end() && kept.size() < kMostCutOuts)
            kept.emplace(id, std::move(before->second));
    m_cutOuts = std::move(kept);
}

void AlertCenter::onClock() {
    pipeline::AlertInput input;
    input.source = safeName(m_engine.sourceName().toStdString());
    input.hour = QTime::currentTime().hour();
    input.sourceDown = isDown(m_engine);
    look(input);
}

/// Returns the image of the alert's object or, if the rule counts objects, of the newest object counted.
QImage AlertCenter::cutOutFor(const pipeline::AlertRule& rule, const pipeline::Alert& alert,
                              const pipeline::AlertInput& input) const {
    std::int64_t id = alert.object;
    if (rule.of == pipeline::AlertRule::Of::Objects && input.objects)
        for (const pipeline::ObjectPresence& one : *input.objects)
            if (pipeline::isOf(rule, input, one.label) && one.stays.count(rule.region) > 0)
                id = std::max(id, one.id);
    const auto found = m_cutOuts.find(id);
    return found == m_cutOuts.end() ? QImage() : found->second.image;
}

/// Returns a different time in milliseconds for each notice, because events and cut-outs are stored under
/// this time. After the clock was set back by a second or more, a time may occur twice.
qint64 AlertCenter::nextTime() {
    const qint64 now = QDateTime::currentMSecsSinceEpoch(), ahead = m_lastTime - now;
    m_lastTime = ahead >= 0 && ahead < kMostAhead ? m_lastTime + 1 : now;
    return m_lastTime;
}

/// Collects new alerts. Actions (above all commands) take time, so each alert is raised in a separate turn of
/// the event loop, and the window stays responsive.
void AlertCenter::look(const pipeline::AlertInput& input) {
    const bool idle = m_raised.empty();
    for (const pipeline::Alert& alert : m_watch.update(input, pipeline::AlertWatch::Clock::now())) {
        const pipeline::AlertRule& rule = m_watch.rules()[alert.index];
        const bool waits = std::any_of(m_raised.begin(), m_raised.end(),
                                       [&rule](const auto& raised) { return raised.first == rule; });
        if (alert.object == 0 ? waits : m_raised.size() >= kMostRaised) continue;
        m_raised.emplace_back(rule, AlertNotice{QDateTime::fromMSecsSinceEpoch(nextTime()), m_engine.title(),
                                                QString::fromStdString(safeName(rule.name)), alert.value,
                                                describeAlert(rule, alert.value), rule.record,
                                                m_engine.sourceName(), cutOutFor(rule, alert, input)});
    }
    if (idle && !m_raised.empty()) raiseNext();
}

void AlertCenter::raiseNext() {
    const auto [rule, notice] = std::move(m_raised.front());
    m_raised.pop_front();
    if (!m_raised.empty()) QMetaObject::invokeMethod(this, &AlertCenter::raiseNext, Qt::QueuedConnection);
    raise(rule, notice);
}

void AlertCenter::raise(const pipeline::AlertRule& rule, const AlertNotice& notice) {
    m_engine.noteEvent(QStringLiteral("alert"), notice.rule + QStringLiteral(": ") + notice.text,
                       pipeline::Millis(notice.time.toMSecsSinceEpoch()));
    if (rule.desktop) notifyDesktop(notice.rule, notice.source + QStringLiteral(": ") + notice.text);
    if (!rule.command.empty()) runCommand(rule, notice);
    emit raised(notice);
}

/// Runs a command without a shell, so that the name of a source or a class cannot become a command.
void AlertCenter::runCommand(const pipeline::AlertRule& rule, const AlertNotice& notice) {
    QStringList words = QProcess::splitCommand(QString::fromStdString(rule.command));
    if (words.isEmpty()) return;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const QString& name : variablesOfSources())
        environment.remove(name);
    environment.insert(QStringLiteral("MPM_ALERT"), notice.rule);
    environment.insert(QStringLiteral("MPM_SOURCE"), notice.source);
    environment.insert(QStringLiteral("MPM_VALUE"), QString::number(notice.value));
    environment.insert(QStringLiteral("MPM_TEXT"), notice.text);
    QProcess process;
    process.setProgram(words.takeFirst());
    process.setArguments(words);
    process.setProcessEnvironment(environment);
    process.setStandardOutputFile(QProcess::nullDevice());
    // The command must not inherit the broker's socket, the store or the camera.
    closeDescriptorsOnExec();
    process.setChildProcessModifier([] {
        closeDescriptorsOnExec();
        restoreFileMode();  // the command's files get the usual permissions
    });
    if (!process.startDetached())
        emit failed(tr("alert '%1': the command '%2' cannot be started: %3")
                        .arg(notice.rule, process.program(), process.errorString()));
}

}  // namespace mpm::gui
