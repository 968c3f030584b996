#include "gui/dialogs/region_page.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QTableWidget>
#include <utility>

#include "gui/widgets/empty_hint.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

QString shapeText(const pipeline::Polygon& shape) {
    QStringList corners;
    for (const cv::Point2d& corner : shape)
        corners << QStringLiteral("%1 %2").arg(corner.x, 0, 'f', 3).arg(corner.y, 0, 'f', 3);
    return corners.join(QStringLiteral(", "));
}

pipeline::Polygon shapeFrom(const QString& text) {
    pipeline::Polygon shape;
    for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
        const QStringList numbers = part.simplified().split(QLatin1Char(' '));
        bool okX = false, okY = false;
        if (numbers.size() != 2) return {};
        const double x = numbers[0].toDouble(&okX), y = numbers[1].toDouble(&okY);
        if (!okX || !okY || x < 0 || x > 1 || y < 0 || y > 1) return {};
        shape.emplace_back(x, y);
    }
    return shape.size() >= 3 ? shape : pipeline::Polygon();
}

RegionPage::RegionPage(const SourceWatch& watch, bool keepsImages, const ThumbnailSettings& thumbnails,
                       QWidget* parent)
    : QWidget(parent),
      m_watch(watch),
      m_table(new QTableWidget(0, 2)),
      m_change(new QPushButton(tr("&Change on the image"))),
      m_remove(new QPushButton(tr("Re&move"))),
      m_measurementsOnly(new QCheckBox(tr("Measurements only: images are measured and discarded"))) {
    m_measurementsOnly->setChecked(!keepsImages);
    m_table->setHorizontalHeaderLabels({tr("Name"), tr("Corners, across and down from 0 to 1")});
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->verticalHeader()->hide();
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setAccessibleName(tr("Regions and masks"));
    m_table->setObjectName(QStringLiteral("framed"));
    new EmptyHint(tr("No region and no mask yet. Draw one on the image."), m_table);
    auto* layout = new QVBoxLayout(this);
    auto* note =
        plainLabel(tr("A region has statistics of its own. A mask is blackened before the network, the "
                      "screen, the store and any video."));
    note->setWordWrap(true);
    layout->addWidget(note);
    layout->addWidget(m_table, 1);
    auto* row = new QHBoxLayout;
    auto* region = new QPushButton(tr("Draw &region"));
    auto* mask = new QPushButton(tr("Draw &mask"));
    for (QPushButton* button : {region, mask, m_change, m_remove})
        row->addWidget(button);
    row->addStretch();
    layout->addLayout(row);
    layout->addLayout(makeObjects());
    layout->addWidget(m_measurementsOnly);
    layout->addLayout(makeThumbnails(thumbnails));
    connect(region, &QPushButton::clicked, this, &RegionPage::drawRegionWanted);
    connect(mask, &QPushButton::clicked, this, &RegionPage::drawMaskWanted);
    connect(m_change, &QPushButton::clicked, this, &RegionPage::changeShapesWanted);
    connect(m_remove, &QPushButton::clicked, this, &RegionPage::remove);
    connect(m_table, &QTableWidget::cellChanged, this, &RegionPage::onEdited);
    connect(m_measurementsOnly, &QCheckBox::clicked, this, &RegionPage::changed);
    fill();
}

QLayout* RegionPage::makeObjects() {
    auto* row = new QHBoxLayout;
    m_objects = new QLineEdit(m_watch.objects.join(QStringLiteral(", ")));
    m_objects->setPlaceholderText(tr("classes separated by commas, or * for all countable objects"));
    m_objects->setAccessibleName(tr("Objects to follow"));
    row->addWidget(plainLabel(tr("Follow objects")));
    row->addWidget(m_objects, 1);
    connect(m_objects, &QLineEdit::editingFinished, this, [this] {
        QStringList names;
        for (const QString& name : m_objects->text().split(QLatin1Char(','), Qt::SkipEmptyParts))
            if (!name.trimmed().isEmpty()) names << name.trimmed();
        if (std::exchange(m_watch.objects, names) != names) emit changed();
    });
    return row;
}

QLayout* RegionPage::makeThumbnails(const ThumbnailSettings& thumbnails) {
    auto* row = new QHBoxLayout;
    m_thumbnails = new QCheckBox(tr("Small images for the timeline, at most"));
    m_thumbnails->setChecked(thumbnails.on);
    m_megabytes = new QSpinBox;
    m_megabytes->setRange(1, 1'000'000);
    m_megabytes->setValue(thumbnails.megabytes);
    m_megabytes->setSuffix(tr(" MiB"));
    m_megabytes->setAccessibleName(tr("Space for small images"));
    m_days = new QSpinBox;
    m_days->setRange(1, 10'000);
    m_days->setValue(thumbnails.days);
    m_days->setSuffix(tr(" days"));
    m_days->setAccessibleName(tr("Age of small images"));
    for (QWidget* widget : std::initializer_list<QWidget*>{m_thumbnails, m_megabytes, m_days})
        row->addWidget(widget);
    row->addStretch();
    connect(m_thumbnails, &QCheckBox::clicked, this, &RegionPage::changed);
    connect(m_megabytes, &QSpinBox::valueChanged, this, &RegionPage::changed);
    connect(m_days, &QSpinBox::valueChanged, this, &RegionPage::changed);
    return row;
}

void RegionPage::fill() {
    m_filling = true;
    const int regions = static_cast<int>(m_watch.regions.size());
    m_table->setRowCount(regions + static_cast<int>(m_watch.masks.size()));
    for (int row = 0; row < m_table->rowCount(); ++row) {
        const bool mask = row >= regions;
        const auto at = static_cast<std::size_t>(mask ? row - regions : row);
        auto* name =
            new QTableWidgetItem(mask ? tr("(mask)") : QString::fromStdString(m_watch.regions[at].name));
        if (mask) name->setFlags(name->flags() & ~Qt::ItemIsEditable);
        m_table->setItem(row, 0, name);
        m_table->setItem(
            row, 1, new QTableWidgetItem(shapeText(mask ? m_watch.masks[at] : m_watch.regions[at].outline)));
    }
    m_filling = false;
    m_change->setEnabled(m_table->rowCount() > 0);
    m_remove->setEnabled(m_table->rowCount() > 0);
}

void RegionPage::remove() {
    const int row = m_table->currentRow(), regions = static_cast<int>(m_watch.regions.size());
    if (row < 0) return;
    if (row < regions)
        m_watch.regions.erase(m_watch.regions.begin() + row);
    else
        m_watch.masks.erase(m_watch.masks.begin() + row - regions);
    fill();
    emit changed();
}

/// Stores the edited name or shape. If the text is not a shape, the cell shows the former text again.
void RegionPage::onEdited(int row, int column) {
    if (m_filling) return;
    const QString text = m_table->item(row, column)->text().trimmed();
    const auto regions = static_cast<int>(m_watch.regions.size());
    if (column == 0 && row < regions && !text.isEmpty()) {
        pipeline::Region& named = m_watch.regions[static_cast<std::size_t>(row)];
        const std::string before = std::exchange(named.name, m_watch.freeName(text.toStdString(), &named));
        if (before != named.name) emit renamed(before, named.name);
    }
    const pipeline::Polygon shape = column == 1 ? shapeFrom(text) : pipeline::Polygon();
    if (!shape.empty()) {
        if (row < regions)
            m_watch.regions[static_cast<std::size_t>(row)].outline = shape;
        else
            m_watch.masks[static_cast<std::size_t>(row - regions)] = shape;
    }
    fill();
    emit changed();
}

}  // namespace mpm::gui
