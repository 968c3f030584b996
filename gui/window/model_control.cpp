#include "gui/window/model_control.hpp"

#include <algorithm>

#include <QFileInfo>
#include <QPushButton>

#include "gui/dialogs/model_dialog.hpp"
#include "gui/panels/conversion_bar.hpp"
#include "gui/panels/header_bar.hpp"
#include "gui/panels/schedule_view.hpp"
#include "gui/panels/sidebar.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

ModelControl::ModelControl(const Parts& parts, QWidget* window) : m_parts(parts), m_window(window) {
    SharedNetwork& network = m_parts.session->network();
    connect(&network, &SharedNetwork::modelLoading, this, [this](const QString& model) {
        m_parts.models->health.setModel(tr("loading %1").arg(model), HealthModel::Warning);
        if (!m_facts) m_parts.views->setAnalysisCover({tr("Loading the model"), model});
    });
    connect(&network, &SharedNetwork::modelLoaded, this, &ModelControl::onLoaded);
    connect(&network, &SharedNetwork::modelFailed, this, &ModelControl::onFailed);
    connect(&network, &SharedNetwork::networkFailed, this, [this](const QString& message) {
        m_parts.views->setAnalysisCover({tr("The network stopped"), message});
        m_parts.models->health.setModel(tr("stopped: %1").arg(message), HealthModel::Bad);
    });
    connect(&m_parts.models->schedule, &ScheduleModel::scheduleChanged, this,
            [this](const std::vector<int>& schedule) {
                if (!m_facts) return;
                m_parts.models->statistics.clear();  // a mean over different schedules is meaningless
                Request& request = m_parts.session->state().request;
                request.ownSchedule = false;
                request.schedule = schedule;
                for (const auto& engine : m_parts.session->sources().engines())
                    engine->noteEvent(QStringLiteral("schedule"), scheduleText(schedule));
                emit changed();
            });
    connect(&m_parts.models->legend, &LegendModel::renameWanted, this, &ModelControl::renameClass);
    connect(&network, &SharedNetwork::classesRenamed, this, [this](const ModelFactsPtr& facts) {
        m_facts = facts;
        m_parts.models->legend.setNames(facts->labels);
        m_parts.views->setModel(*facts);
    });
    connect(&m_inspector, &ModelInspector::judged, this, &ModelControl::offerConversion);
    connectConverter();
}

/// Renames a class in the panels, in exports and for Prometheus.
void ModelControl::renameClass(int id, const QString& name) {
    if (!m_facts || id >= static_cast<int>(m_facts->ownLabels.size())) return;
    auto& all = m_parts.session->state().classNames;
    QStringList& names = all[m_facts->name];
    while (names.size() <= id)
        names << QString();
    names[id] = name;
    renameInRules(m_facts->labels[id], m_facts->ownLabels[id], name.toStdString());
    m_parts.session->network().setClassNames(all);
}

/// Renames a class in alert rules. If the rules contain the name in the model file, leaves the rules
/// unchanged, because they also apply to other models.
void ModelControl::renameInRules(const std::string& before, const std::string& own, const std::string& now) {
    const auto count = [&](const std::vector<std::string>& names) {
        return std::count(names.begin(), names.end(), before);
    };
    if (before == own || count(m_facts->labels) > 1 || count(m_facts->ownLabels) > 0)
        return;  // other classes have this name
    WatchSettings watch = m_parts.session->services().settings();
    bool any = false;
    for (pipeline::AlertRule& rule : watch.alerts) {
        if (rule.label != before) continue;
        rule.label = now.empty() ? own : safeName(now);
        any = true;
    }
    if (any) m_parts.session->setWatch(watch);
}

void ModelControl::connectConverter() {
    ConversionBar* bar = m_parts.conversion;
    connect(bar, &ConversionBar::cancelWanted, this, &ModelControl::cancelConversion);
    connect(&m_converter, &ModelConverter::started, bar,
            [bar](const QString& file) { bar->begin(ConversionBar::Task::Conversion, file); });
    connect(&m_converter, &ModelConverter::converted, this, [this, bar](const QString&, const QString& made) {
        bar->end();
        emit messagePosted(tr("Converted to %1").arg(made));
        open(made);
    });
    connect(&m_converter, &ModelConverter::rejected, this,
            [this, bar](const QString& file, const QString& message) {
                bar->end();
                emit messagePosted(tr("%1 cannot be converted: %2").arg(QFileInfo(file).fileName(), message),
                                   true);
            });
    connect(&m_converter, &ModelConverter::cancelled, this, [this, bar](const QString& file) {
        bar->end();
        emit messagePosted(tr("%1 is not converted").arg(QFileInfo(file).fileName()));
    });
    connect(&m_converter, &Worker::crashed, this, [this, bar](const QString& message) {
        bar->end();
        emit messagePosted(tr("Converting stopped: %1").arg(message), true);
    });
}

void ModelControl::open(const QString& model) {
    m_wanted = model;
    m_parts.session->network().openModel(model);
}

void ModelControl::onLoaded(const ModelFactsPtr& facts) {
    const bool first = m_facts == nullptr;
    m_facts.reset();  // so that the changes below are not taken for changes by the user
    adoptSchedule(*facts);
    m_facts = facts;
    if (!m_wanted.isEmpty()) {
        m_parts.session->state().model = std::exchange(m_wanted, QString());
        noteRecent(*facts);
    }
    m_parts.models->statistics.clear();
    showModel(*facts);
    for (const auto& engine : m_parts.session->sources().engines())
        if (!first) engine->noteEvent(QStringLiteral("model"), facts->name);
    if (first) m_parts.views->setAnalysisCover({});
    emit changed();
}

void ModelControl::noteRecent(const ModelFacts& facts) {
    constexpr int kMost = 8;
    if (facts.shipped || facts.random) return;  // these models are in the menu already
    QStringList& recent = m_parts.session->state().recentModels;
    const QString path = QFileInfo(facts.path).absoluteFilePath();
    recent.removeAll(path);
    recent.prepend(path);
    while (recent.size() > kMost)
        recent.removeLast();
}

void ModelControl::describe() {
    if (!m_facts) return emit messagePosted(tr("No model"), true);
    auto* dialog = new ModelDialog(*m_facts, m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(&m_inspector, &ModelInspector::inspected, dialog, &ModelDialog::setReport);
    if (!m_facts->random) m_inspector.inspect(m_facts->path);
    dialog->open();
}

void ModelControl::adoptSchedule(const ModelFacts& facts) {
    ProfileState& state = m_parts.session->state();
    ScheduleModel& schedule = m_parts.models->schedule;
    schedule.setBlocks(facts.blocks);
    if (state.request.ownSchedule) state.request.schedule = facts.schedule;
    schedule.setSchedule(state.request.schedule);  // ignores blocks past the model's last block
    m_parts.sidebar->schedule()->setOwnSchedule(facts.schedule);
}

void ModelControl::showModel(const ModelFacts& facts) {
    const ProfileState& state = m_parts.session->state();
    LegendModel& legend = m_parts.models->legend;
    legend.setClasses(facts.labels, state.safePalette ? pipeline::Palette() : facts.palette);
    std::vector<bool> hidden;
    for (const std::string& label : facts.labels)
        hidden.push_back(state.hiddenClasses.contains(QString::fromStdString(label)));
    legend.setHidden(hidden);
    const QString size =
        tr("%1×%2, %3 blocks").arg(facts.input.height).arg(facts.input.width).arg(facts.blocks);
    m_parts.header->setModel(facts.random ? tr("Random weights: labels mean nothing (%1)").arg(size)
                                          : tr("%1 (%2)").arg(facts.name, size),
                             facts.random, facts.shipped);
    m_parts.models->health.setModel(facts.name, facts.random ? HealthModel::Warning : HealthModel::Good);
    m_parts.views->setModel(facts);
    m_parts.sidebar->setClassesShown(facts.classes);
}

void ModelControl::onFailed(const QString& model, const QString& message, bool convertible) {
    m_wanted.clear();
    // A library's message about an export does not help the user, so the inspector finds out whether the file
    // can be converted.
    const bool judged = convertible && QFileInfo(model).isFile() && m_window->isVisible();
    const QString words = judged ? tr("%1 is rejected").arg(safeText(QFileInfo(model).fileName())) : message;
    if (judged) m_inspector.judge(model);
    if (m_facts) {
        emit messagePosted(tr("Model rejected, %1 stays in use: %2").arg(m_facts->name, words), true);
        m_parts.models->health.setModel(m_facts->name, HealthModel::Good);
        return;
    }
    m_parts.views->setAnalysisCover({tr("This model cannot be used"), judged ? QString() : message});
    m_parts.models->health.setModel(tr("rejected: %1").arg(model), HealthModel::Bad);
    m_parts.header->setModel(tr("No model"), true);
    emit messagePosted(words, true);
}

/// Offers to convert an export, which the network cannot run without conversion.
void ModelControl::offerConversion(const QString& model, const QString& problem) {
    const QString name = safeText(QFileInfo(model).fileName());
    if (!problem.isEmpty()) return emit messagePosted(tr("%1 cannot be used: %2").arg(name, problem), true);
    QMessageBox* box = plainBox(QMessageBox::Question, tr("Convert this model?"),
                                tr("%1 is an export that is not converted yet.").arg(name),
                                tr("It can be converted now, as by mpm convert. The present model stays in "
                                   "use meanwhile."),
                                QMessageBox::Cancel, m_window);
    box->setObjectName(QStringLiteral("offerConversion"));
    QPushButton* yes = box->addButton(tr("Convert"), QMessageBox::AcceptRole);
    connect(yes, &QPushButton::clicked, this, [this, model] { convert(model); });
    box->open();
}

void ModelControl::convert(const QString& file) {
    if (m_parts.conversion->tunes())
        return emit messagePosted(tr("The best speed is being found: wait, or cancel it"), true);
    emit messagePosted(tr("Converting %1 beside the model in use").arg(QFileInfo(file).fileName()));
    m_converter.convert(file, folder());
}

QString ModelControl::folder() const {
    return QFileInfo(m_parts.session->profile().storePath()).absolutePath() + QStringLiteral("/models");
}

void ModelControl::openTuned(const QString& made) {
    ProfileState& state = m_parts.session->state();
    state.request.ownSchedule = true;
    const QString name = safeText(QFileInfo(made).completeBaseName());
    if (m_facts && state.classNames.count(m_facts->name) != 0) {
        state.classNames[name] = state.classNames[m_facts->name];
        m_parts.session->network().setClassNames(state.classNames);
    }
    open(made);
}

void ModelControl::setSafePalette(bool safe) {
    m_parts.session->state().safePalette = safe;
    if (!m_facts) return;
    LegendModel& legend = m_parts.models->legend;
    const std::vector<bool> hidden = legend.hidden();
    legend.setClasses(m_facts->labels, safe ? pipeline::Palette() : m_facts->palette);
    legend.setHidden(hidden);
}

void ModelControl::noteHiddenClasses(QStringList& names) const {
    const LegendModel& legend = m_parts.models->legend;
    const std::vector<bool> hidden = legend.hidden();
    for (int id = 0; id < legend.rowCount(); ++id) {
        names.removeAll(legend.name(id));
        if (hidden[static_cast<std::size_t>(id)]) names << legend.name(id);
    }
}

}  // namespace mpm::gui
