#include "gui/dialogs/source_dialog.hpp"

#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "gui/text/numbers.hpp"
#include "gui/text/safe_text.hpp"
#include "gui/text/source_text.hpp"
#include "gui/widgets/plain_widgets.hpp"

namespace mpm::gui {

namespace {

constexpr QSize kSnapshot(320, 200);

}  // namespace

SourceDialog::SourceDialog(const QString& title, Choices choices, QWidget* parent)
    : QDialog(parent),
      m_choices(std::move(choices)),
      m_list(new QListWidget),
      m_address(new QLineEdit),
      m_image(plainLabel()),
      m_facts(plainLabel()) {
    setWindowTitle(title);
    m_list->setObjectName(QStringLiteral("framed"));
    m_list->setAccessibleName(tr("Cameras and recent sources"));
    m_address->setPlaceholderText(tr("file, folder, rtsp://…, http://…, gst: and a pipeline, or demo"));
    m_address->setAccessibleName(tr("Address of the source"));
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
    connect(m_list, &QListWidget::currentTextChanged, m_address, &QLineEdit::setText);
    connect(m_list, &QListWidget::itemActivated, m_open, &QPushButton::click);
    connect(m_address, &QLineEdit::textChanged, this, [this] {
        endTest();
        const bool any = !source().isEmpty();
        m_test->setEnabled(any);
        m_open->setEnabled(any);
    });
    connect(m_test, &QPushButton::clicked, this, &SourceDialog::test);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        endTest();  // some cameras serve a single client
        accept();
        emit chosen(source());
    });
    m_test->setEnabled(false);
    m_open->setEnabled(false);
    m_address->setFocus();
}

SourceDialog::~SourceDialog() {
    endTest();
}

void SourceDialog::addChoices() {
    const auto section = [this](const QString& title, const QStringList& sources) {
        if (sources.isEmpty()) return;
        auto* head = new QListWidgetItem(title, m_list);
        head->setFlags(Qt::NoItemFlags);
        QFont bold = m_list->font();
        bold.setBold(true);
        head->setFont(bold);
        for (const QString& source : sources)
            new QListWidgetItem(source, m_list);
    };
    section(tr("Cameras"), m_choices.cameras);
    section(tr("Recent"), m_choices.recent);
    section(tr("Built in: a street by day and night"), {QStringLiteral("demo")});
}

QString SourceDialog::source() const {
    static const QRegularExpression named(QStringLiteral("^(\\d+): .*$"));
    const QString text = m_address->text().trimmed();
    const QRegularExpressionMatch match = named.match(text);
    return match.hasMatch() ? match.captured(1) : text;
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
    m_probe = new Probe(pipeline::Address(source().toStdString()),
                        m_choices.masks ? m_choices.masks(source()) : std::vector<pipeline::Polygon>());
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
