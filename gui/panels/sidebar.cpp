#include "gui/panels/sidebar.hpp"

#include <algorithm>

#include <QComboBox>
#include <QHBoxLayout>

#include "gui/models/models.hpp"
#include "gui/panels/legend_view.hpp"
#include "gui/panels/schedule_view.hpp"
#include "gui/panels/tables.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/section.hpp"

namespace mpm::gui {

namespace {

QWidget* legendWithButtons(LegendModel* model, LegendView* view) {
    auto* widget = new QWidget;
    auto* layout = new QVBoxLayout(widget);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(view);
    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    layout->addLayout(row);
    for (const bool shown : {true, false}) {
        QToolButton* button = smallButton(shown ? Sidebar::tr("Show all") : Sidebar::tr("Hide all"));
        QObject::connect(button, &QToolButton::clicked, model, [model, shown] { model->showAll(shown); });
        row->addWidget(button);
    }
    row->addStretch();
    return widget;
}

}  // namespace

Sidebar::Sidebar(Models& models, QWidget* parent)
    : QScrollArea(parent),
      m_schedule(new ScheduleView(&models.schedule)),
      m_legend(new LegendView(&models.legend)) {
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setMinimumWidth(318);
    auto* inside = new QWidget;
    auto* layout = new QVBoxLayout(inside);
    layout->setContentsMargins(0, 0, 2, 0);
    layout->setSpacing(8);
    setWidget(inside);
    layout->addWidget(add(QStringLiteral("schedule"), tr("Schedule"), m_schedule));
    m_classes = add(QStringLiteral("classes"), tr("Classes"), legendWithButtons(&models.legend, m_legend));
    connect(m_legend, &LegendView::laneWanted, this, [this](int id) {
        emit laneWanted({pipeline::Quantity::Kind::ClassShare, id, {}});
    });
    layout->addWidget(m_classes);
    layout->addWidget(add(QStringLiteral("daynight"), tr("Day and night"), makeComparison(models)));
    Section* regions = addListed(QStringLiteral("regions"), tr("Regions"), &models.regions,
                                 tr("Readings of each region of the image"));
    connect(regions->findChild<RowsView*>(), &RowsView::clicked, this,
            [this, &models](const QModelIndex& index) {
                if (const auto quantity = models.regions.quantity(index)) emit laneWanted(*quantity);
            });
    layout->addWidget(regions);
    layout->addWidget(addListed(QStringLiteral("objects"), tr("Objects"), &models.objects,
                                tr("Objects that are present, with the time of their arrival")));
    layout->addWidget(addListed(QStringLiteral("alerts"), tr("Alerts"), &models.alerts,
                                tr("Alerts of this run, newest first")));
    layout->addWidget(add(QStringLiteral("health"), tr("Health"), new HealthView(&models.health)));
    layout->addStretch();
}

QWidget* Sidebar::makeComparison(Models& models) {
    auto* widget = new QWidget;
    auto* layout = new QVBoxLayout(widget);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    m_span = new QComboBox;
    m_span->addItem(tr("Readings of the last day"), 24);
    m_span->addItem(tr("Readings of the last week"), 24 * 7);
    m_span->addItem(tr("All readings"), 0);
    m_span->setAccessibleName(tr("Span of the comparison"));
    setPlainToolTip(m_span, tr("From the store, with the present model and schedule"));
    connect(m_span, &QComboBox::activated, this,
            [this] { emit comparedHoursChosen(m_span->currentData().toInt()); });
    layout->addWidget(m_span);
    layout->addWidget(new StatisticsView(&models.statistics));
    return widget;
}

void Sidebar::setComparedHours(int hours) {
    m_span->setCurrentIndex(std::max(0, m_span->findData(hours)));
}

Section* Sidebar::add(const QString& name, const QString& title, QWidget* content) {
    auto* section = new Section(title, content);
    section->setProperty("key", name);
    m_sections << section;
    return section;
}

/// Adds a section with a list. The section is hidden while the list is empty.
Section* Sidebar::addListed(const QString& name, const QString& title, QAbstractItemModel* model,
                            const QString& description) {
    auto* view = new RowsView(model);
    view->setAccessibleName(description);
    connect(view, &RowsView::rowChosen, this, [this](const QModelIndex& row) {
        const QVariant moment = row.data(AlertModel::MomentRole);
        if (moment.typeId() == QMetaType::LongLong)
            emit momentChosen(moment.toLongLong(), row.data(AlertModel::SourceRole).toString());
    });
    Section* section = add(name, title, view);
    const auto show = [section, model] { section->setVisible(model->rowCount() > 0); };
    connect(model, &QAbstractItemModel::rowsInserted, section, show);
    connect(model, &QAbstractItemModel::modelReset, section, show);
    show();
    return section;
}

void Sidebar::setClassesShown(bool shown) {
    m_classes->setVisible(shown);
}

QStringList Sidebar::folded() const {
    QStringList names;
    for (const Section* section : m_sections)
        if (!section->open()) names << section->property("key").toString();
    return names;
}

void Sidebar::setFolded(const QStringList& names) {
    for (Section* section : m_sections)
        section->setOpen(!names.contains(section->property("key").toString()));
}

}  // namespace mpm::gui
