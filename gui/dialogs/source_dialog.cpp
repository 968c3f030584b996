#include "gui/dialogs/source_dialog.hpp"

#include <QDialogButtonBox>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "gui/text/numbers.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/text/source_text.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/theme.hpp"

namespace mpm::gui {

namespace {

constexpr QSize kSnapshot(320, 200);

/// Returns the source for an entry of the list: 0 for "0: Integrated Camera".
QString sourceFrom(const QString& text) {
    static const QRegularExpression named(QStringLiteral("^(\\d+): .*$"));
    const QRegularExpressionMatch match = named.match(text);
    return match.hasMatch() ? match.captured(1) : text;
}

}  // namespace

SourceDialog::SourceDialog(const QString& title, Choices choices, QWidget* parent)
    : QDialog(parent),
      m_choices(std::move(choices)),
      m_list(new QListWidget),
      m_address(new QLineEdit),
      m_name(new QLineEdit),
      m_image(plainLabel()),
      m_facts(plainLabel()),
      m_taken(plainLabel(tr("Another source has this name"))) {
    setWindowTitle(title);
    m_list->setObjectName(QStringLiteral("framed"));
    m_list->setAccessibleName(tr("Cameras and recent sources"));
    m_address->setPlaceholderText(tr("file, folder, rtsp://…, http://…, gst: and a pipeline, or demo"));
    m_address->setAccessibleName(tr("Address of the source"));
    m_name->setPlaceholderText(tr("name, such as Front door"));
    m_name->setAccessibleName(tr("Name of the source"));
    m_image->setFixedSize(kSnapshot);
    m_image->setAlignment(Qt::AlignCenter);
    m_image->setFrameShape(QFrame::StyledPanel);
    m_image->setObjectName(QStringLiteral("muted"));
    m_image->setWordWrap(true);
    m_facts->setWordWrap(true);
    m_facts->setMinimumHeight(2 * fontMetrics().height());
    addChoices();
    auto* choose = new QVBoxLayout;
    choose->addWidget(m_list, 1);
    choose->addWidget(m_address);
    choose->addWidget(m_name);
    choose->addWidget(m_taken);
    setMark(*m_taken, "trouble", true);
    auto* probe = new QVBoxLayout;
    probe->addWidget(m_image);
    probe->addWidget(m_facts);
    probe->addStretch();
    auto* row = new QHBoxLayout;
    row->addLayout(choose, 1);
    row->addLayout(probe);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    m_test = buttons->addButton(tr("Test"), QDialogButtonBox::ActionRole);
    m_open = buttons->addButton(tr("Open"), QDialogButtonBox::AcceptRole);
    m_open->setDefault(true);
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(row);
    layout->addWidget(buttons);
    resize(760, 380);
    m_image->setText(tr("Test shows an image of the source here"));
    connect(m_list, &QListWidget::currentItemChanged, this, &SourceDialog::choose);
    connect(m_list, &QListWidget::itemActivated, m_open, &QPushButton::click);
    connect(m_address, &QLineEdit::textChanged, this, [this] {
        endTest();
        offerName(watchOf(source()).name);
        check();
    });
    connect(m_name, &QLineEdit::textChanged, this, &SourceDialog::check);
    connect(m_test, &QPushButton::clicked, this, &SourceDialog::test);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        endTest();  // because some cameras serve only a single client
        accept();
        emit chosen(source(), m_name->text().trimmed());
    });
    check();
    m_address->setFocus();
}

void SourceDialog::addChoices() {
    // If a source has a name, the list shows the name, then the source in brackets.
    const auto section = [this](const QString& title, const QStringList& sources) {
        if (sources.isEmpty()) return;
        auto* head = new QListWidgetItem(title, m_list);
        head->setFlags(Qt::NoItemFlags);
        head->setFont(bold(m_list->font()));
        for (const QString& source : sources) {
            const QString name = watchOf(sourceFrom(source)).name;
            auto* item =
                new QListWidgetItem(name.isEmpty() ? source : tr("%1 (%2)").arg(name, source), m_list);
            item->setData(Qt::UserRole, source);
        }
    };
    section(tr("Cameras"), m_choices.cameras);
    section(tr("Recent"), m_choices.recent);
    section(tr("Built in: a street by day and night"), {QStringLiteral("demo")});
}

/// Offers the camera's name in the system as the name of the source, because users cannot tell cameras apart
/// by number.
void SourceDialog::choose(const QListWidgetItem* item) {
    if (item == nullptr) return;
    const QString text = item->data(Qt::UserRole).toString(), chosen = sourceFrom(text);
    m_address->setText(text);
    const QString camera = text.mid(chosen.size() + 2);
    if (m_name->text().isEmpty() && chosen != text && isFree(camera)) offerName(camera);
}

/// Replaces a name that was offered earlier, but not a name that the user typed.
void SourceDialog::offerName(const QString& name) {
    if (m_name->text() != m_offered) return;
    m_offered = name;
    m_name->setText(name);
}

SourceWatch SourceDialog::watchOf(const QString& source) const {
    return m_choices.watch && !source.isEmpty() ? m_choices.watch(source) : SourceWatch();
}

bool SourceDialog::isFree(const QString& name) const {
    return !m_choices.isNameFree || m_choices.isNameFree(name, source());
}

void SourceDialog::check() {
    const bool any = !source().isEmpty(), free = isFree(m_name->text().trimmed());
    m_test->setEnabled(any);
    m_open->setEnabled(any && free);
    m_taken->setVisible(!free);
}

QString SourceDialog::source() const {
    return sourceFrom(m_address->text().trimmed());
}

void SourceDialog::endTest() {
    if (m_probe) m_probe->abandon();
    m_probe.clear();
    m_facts->clear();
}

void SourceDialog::test() {
    endTest();
    if (source().startsWith(QStringLiteral("secret:")))
        return m_facts->setText(tr("Its address is in the keychain: it can be opened, not tested"));
    m_image->setText(tr("Connecting…"));
    m_probe = new Probe(pipeline::Address(source().toStdString()), watchOf(source()).masks);
    connect(m_probe, &Probe::found, this, &SourceDialog::showResult);
    m_probe->start();
}

void SourceDialog::showResult(const ProbeResult& result) {
    if (result.failed) {
        m_image->setText(tr("No image"));
        const QString reason = sourceProblemText(result.problem);
        return m_facts->setText(
            reason.isEmpty() ? tr("No image came within %1 s").arg(Probe::kPatience.count()) : reason);
    }
    if (m_choices.showsImages)
        m_image->setPixmap(QPixmap::fromImage(result.image)
                               .scaled(kSnapshot, Qt::KeepAspectRatio, Qt::SmoothTransformation));
    else
        m_image->setText(tr("Measurements only: images are not shown"));
    QStringList facts{tr("%1×%2 pixels").arg(result.size.width).arg(result.size.height)};
    if (result.rate > 0) facts << tr("%1 frames a second").arg(readable(result.rate, 1));
    if (!result.codec.empty()) facts << safeText(result.codec);
    m_facts->setText(facts.join(QStringLiteral(", ")));
}

}  // namespace mpm::gui
