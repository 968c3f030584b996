// A window that shows text from outside: labels, file names and rules that look like HTML, contain control
// characters, or have the largest length that a model's metadata allows.
#include <sys/stat.h>

#include <QAbstractItemView>
#include <QComboBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLabel>
#include <QMessageBox>
#include <QStatusBar>
#include <QTabBar>
#include <QTextDocument>

#include "gui/panels/header_bar.hpp"
#include "gui/registry.hpp"
#include "gui/window_fixture.hpp"

using namespace mpm::gui;
using mpm::pipeline::AlertRule;

namespace {

/// Encodes a length-delimited protobuf field. If a metadata field is appended to an ONNX file, the field
/// replaces an earlier value of the same key.
QByteArray field(char tag, const QByteArray& bytes) {
    QByteArray head(1, tag);
    for (auto size = static_cast<quint64>(bytes.size());; size >>= 7) {
        head += static_cast<char>((size & 0x7F) | (size > 0x7F ? 0x80 : 0));
        if (size <= 0x7F) return head + bytes;
    }
}

/// Returns whether Qt would take the text for HTML with an image.
bool isDangerous(const QString& text) {
    return Qt::mightBeRichText(text) && text.contains(QStringLiteral("<img"));
}

/// Returns whether the text is of limited length and has no control characters except newlines and tabs.
bool isClean(const QString& text) {
    return text.size() < 6000 && std::none_of(text.begin(), text.end(), [](QChar c) {
               return c.unicode() < 0x20 && c != QLatin1Char('\n') && c != QLatin1Char('\t');
           });
}

/// Checks every text of a widget that the user may see, and lists the texts that Qt would take for HTML.
struct Seen {
    QStringList wrong;
    int hostile = 0;  ///< number of the hostile model's texts that the widgets show; must not be 0

    void see(const QString& text, bool automatic, const QString& where) {
        hostile += text.contains(QStringLiteral("img src")) ? 1 : 0;
        if (automatic && isDangerous(text)) wrong << where + QStringLiteral(" is HTML: ") + text.left(80);
        if (!isClean(text)) wrong << where + QStringLiteral(" is not clean: ") + text.left(80);
    }

    void walk(QWidget& widget) {
        const QString name =
            QLatin1String(widget.metaObject()->className()) + QLatin1Char(' ') + widget.objectName();
        see(widget.toolTip(), true, name + QStringLiteral(" tool tip"));
        see(widget.windowTitle(), false, name + QStringLiteral(" title"));
        if (const auto* label = qobject_cast<QLabel*>(&widget))
            see(label->text(), label->textFormat() != Qt::PlainText, name);
        if (const auto* bar = qobject_cast<QStatusBar*>(&widget)) see(bar->currentMessage(), false, name);
        if (const auto* box = qobject_cast<QComboBox*>(&widget))
            for (int i = 0; i < box->count(); ++i)
                see(box->itemText(i), false, name);
        if (const auto* tabs = qobject_cast<QTabBar*>(&widget))
            for (int i = 0; i < tabs->count(); ++i) {
                see(tabs->tabToolTip(i), true, name);
                see(tabs->tabText(i), false, name);
            }
        if (const auto* view = qobject_cast<QAbstractItemView*>(&widget))
            if (view->model() != nullptr) walk(*view->model(), name);
        for (QObject* child : widget.children())
            if (auto* inside = qobject_cast<QWidget*>(child)) walk(*inside);
    }

    void walk(QAbstractItemModel& model, const QString& name) {
        for (int row = 0; row < model.rowCount(); ++row)
            for (int column = 0; column < model.columnCount(); ++column) {
                const QModelIndex at = model.index(row, column);
                see(at.data().toString(), false, name);
                see(at.data(Qt::ToolTipRole).toString(), true, name + QStringLiteral(" tool tip"));
            }
    }
};

}  // namespace

class HostileTest : public QObject {
    Q_OBJECT
private slots:
    void textOfOthersStaysText();
    void boxesShowTextAsItIs();
    void exportsHoldNoMarkup();

private:
    QString model();
    void open();
    test::WindowFixture m_is;
    const QString m_image = QStringLiteral("<img src=\"file:///dev/zero\">");
};

/// Writes the shipped model with hostile labels to a file with a hostile name.
QString HostileTest::model() {
    const QString path = m_is.sandbox.path(QStringLiteral("<img src=a><b>model.onnx"));
    QFile shipped(QStringLiteral(MPM_SOURCE_DIR "/models/zoo/street-vit-tiny.onnx")), file(path);
    if (!shipped.open(QIODevice::ReadOnly) || !file.open(QIODevice::WriteOnly)) return {};
    const QString pipe = m_is.sandbox.path(QStringLiteral("pipe"));
    mkfifo(pipe.toUtf8().constData(), 0600);
    QJsonArray labels{m_image,
                      QStringLiteral("<img src=\"%1\">").arg(pipe),
                      QStringLiteral("\x1b]0;owned\x07\x1b[31m<img src=c>"),
                      QStringLiteral("two\nlines\t<img src=d>"),
                      QString(40'000, QLatin1Char('x')),
                      QStringLiteral("<h1>") + QString(5000, QLatin1Char('y')),
                      QString(QChar(0x202e)) + QStringLiteral("gpj.<img src=e>")};
    while (labels.size() < 11)
        labels.append(QStringLiteral("<img src=%1>").arg(labels.size()));
    const QByteArray text = QJsonDocument(labels).toJson(QJsonDocument::Compact);
    file.write(shipped.readAll() + field('\x72', field('\x0a', "mpm.labels") + field('\x12', text)));
    return path;
}

void HostileTest::open() {
    Options options;
    options.model = model();
    const QString film = m_is.sandbox.film(8, 0);
    options.source = m_is.sandbox.path(QStringLiteral("<img src=f>\x1b[2J.avi"));
    QFile::copy(film, *options.source);
    m_is.open(options);
    QVERIFY(m_is.next() != nullptr);
    QCOMPARE(m_is.window->models().legend.rowCount(), 11);
}

void HostileTest::textOfOthersStaysText() {
    open();
    MainWindow& window = *m_is.window;
    WatchSettings watch = window.session().services().settings();
    watch.sources[window.engine().sourceName()].regions = {
        {m_image.toStdString(), {{0, 0}, {1, 0}, {1, 1}, {0, 1}}}};
    AlertRule rule;
    rule.name = m_image.toStdString();
    rule.threshold = 1;
    rule.region = m_image.toStdString();
    rule.desktop = false;
    watch.alerts = {rule};
    window.session().setWatch(watch);
    window.sources().add(m_is.sandbox.path(QStringLiteral("<img src=missing>")));
    window.sources().select(0);
    QTRY_VERIFY_WITH_TIMEOUT(window.models().alerts.rowCount() > 0, test::patience(30'000));
    window.engine().noteEvent(QStringLiteral("model"), m_image + QStringLiteral("\x1b[31m"));
    for (int view = 0; view < viewKeys().size(); ++view) {
        window.views()->showView(view);
        Seen seen;
        seen.walk(window);
        QVERIFY2(seen.wrong.isEmpty(), qPrintable(seen.wrong.join(QLatin1Char('\n'))));
        QVERIFY2(seen.hostile >= 15, qPrintable(QString::number(seen.hostile)));
    }
}

void HostileTest::boxesShowTextAsItIs() {
    const QString wrong = m_is.sandbox.path(QStringLiteral("<img src=g>.onnx"));
    QFile file(wrong);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("no model \x1b[31m");
    file.close();
    m_is.window->model().open(wrong);
    QTRY_VERIFY_WITH_TIMEOUT(m_is.window->message().contains(QStringLiteral("cannot be used")),
                             test::patience(30'000));
    Seen seen;
    seen.walk(*m_is.window);
    QVERIFY2(seen.wrong.isEmpty(), qPrintable(seen.wrong.join(QLatin1Char('\n'))));
    QVERIFY(seen.hostile >= 1);
}

void HostileTest::exportsHoldNoMarkup() {
    m_is.window->views()->showView(QStringLiteral("overview"));
    for (const char* name : {"picture.svg", "timeline.svg"}) {
        const QString path = m_is.sandbox.path(QLatin1String(name));
        *name == 'p' ? m_is.window->exports().image(path) : m_is.window->exports().timeline(path);
        QFile file(path);
        QVERIFY2(file.open(QIODevice::ReadOnly), name);
        const QByteArray text = file.readAll();
        QVERIFY2(text.contains("<svg") && !text.contains("<img"), name);
        QVERIFY(!text.contains('\x1b'));
    }
}

MPM_GUI_TEST(HostileTest);
#include "hostile_test.moc"
