// Runs the demo, a new user's first step, on the X server Xvfb, and reads the screen from the file that Xvfb
// writes. MPM_DEMO selects another command, such as `./run demo`.
#include <set>

#include <QElapsedTimer>
#include <QImage>
#include <QProcess>
#include <QTest>
#include <QtEndian>

#include "gui/registry.hpp"
#include "gui/support.hpp"

using namespace mpm::gui;

namespace {

constexpr int kWidth = 1440, kHeight = 900;

/// An X server with a screen that the test can read at any time.
class Screen {
public:
    explicit Screen(const QString& folder) : m_file(folder + QStringLiteral("/Xvfb_screen0")) {
        m_server.start(QStringLiteral("Xvfb"),
                       {QStringLiteral("-displayfd"), QStringLiteral("1"), QStringLiteral("-screen"),
                        QStringLiteral("0"), QStringLiteral("%1x%2x24").arg(kWidth).arg(kHeight),
                        QStringLiteral("-fbdir"), folder});
        if (m_server.waitForReadyRead(test::patience(20'000)))
            m_name = QLatin1Char(':') + QString::fromUtf8(m_server.readAllStandardOutput()).trimmed();
    }
    ~Screen() {
        m_server.terminate();
        m_server.waitForFinished();
    }
    const QString& name() const { return m_name; }

    /// Returns the screen. Its file has the XWD format: a header of big-endian words, a colour table, pixels.
    QImage look() const {
        QFile file(m_file);
        if (!file.open(QIODevice::ReadOnly)) return {};
        const QByteArray dump = file.readAll();
        const auto word = [&dump](int index) {
            return qFromBigEndian<quint32>(dump.constData() + 4 * index);
        };
        if (dump.size() < 100 || word(11) != 32) return {};
        const qsizetype start = word(0) + 12 * word(19);
        const int width = int(word(4)), height = int(word(5)), line = int(word(12));
        if (dump.size() < start + qsizetype(line) * height) return {};
        return QImage(reinterpret_cast<const uchar*>(dump.constData()) + start, width, height, line,
                      QImage::Format_RGB32)
            .copy();
    }

private:
    const QString m_file;
    QProcess m_server;
    QString m_name;
};

/// Returns the central area of each of the overview's four views, with 60 % of the view's width and height.
std::array<QRect, 4> views() {
    const QRect area(20, 130, 1050, 520);
    const QSize half(area.width() / 2, area.height() / 2), inside = half * 0.6;
    std::array<QRect, 4> found;
    for (int i = 0; i < 4; ++i) {
        const QPoint middle = area.topLeft() + QPoint(half.width() * (i % 2), half.height() * (i / 2)) +
                              QPoint(half.width() / 2, half.height() / 2);
        found[i] = QRect(middle - QPoint(inside.width() / 2, inside.height() / 2), inside);
    }
    return found;
}

/// Returns whether the area shows an image, not a message: many colours, and no colour fills most of it.
bool looksLikeAnImage(const QImage& image) {
    std::map<QRgb, int> colours;
    for (int y = 0; y < image.height(); y += 2)
        for (int x = 0; x < image.width(); x += 2)
            ++colours[image.pixel(x, y) & 0xF8F8F8];
    int most = 0;
    for (const auto& [colour, count] : colours)
        most = std::max(most, count);
    return colours.size() > 40 && most < image.width() * image.height() / 4 * 0.6;
}

}  // namespace

class DemoTest : public QObject {
    Q_OBJECT
private slots:
    void everyViewIsAliveSoon();
};

void DemoTest::everyViewIsAliveSoon() {
    test::Sandbox sandbox;
    Screen screen(sandbox.path(QStringLiteral(".")));
    QVERIFY2(!screen.name().isEmpty(), "Xvfb does not start");
    QStringList command = qEnvironmentVariable("MPM_DEMO").split(QLatin1Char(' '), Qt::SkipEmptyParts);
    if (command.isEmpty())
        command = QStringList{QStringLiteral(MPM_MONITOR), QStringLiteral("--source"), QStringLiteral("demo"),
                              QStringLiteral("--model"), QStringLiteral("default")};
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("DISPLAY"), screen.name());
    environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("xcb"));
    environment.remove(QStringLiteral("WAYLAND_DISPLAY"));
    QProcess program;
    program.setProcessEnvironment(environment);
    program.setStandardErrorFile(sandbox.path(QStringLiteral("said")));
    QElapsedTimer timer;
    timer.start();
    program.start(command.takeFirst(), command);
    QVERIFY(program.waitForStarted());
    const auto alive = [&](int view) { return looksLikeAnImage(screen.look().copy(views()[view])); };
    QVERIFY2(
        QTest::qWaitFor([&] { return alive(0) && alive(1) && alive(2) && alive(3); }, test::patience(60'000)),
        "a view stays empty");
    const qint64 started = timer.elapsed();
    // Every view is painted again as the street changes.
    const QImage before = screen.look();
    for (int view = 0; view < 4; ++view) {
        const QRect place = views()[view];
        QVERIFY2(QTest::qWaitFor([&] { return screen.look().copy(place) != before.copy(place); },
                                 test::patience(20'000)),
                 qPrintable(QStringLiteral("view %1 stands still").arg(view)));
    }
    const QString shot = qEnvironmentVariable("MPM_DEMO_SHOT");
    if (!shot.isEmpty()) QVERIFY(screen.look().save(shot));
    program.terminate();
    program.waitForFinished(test::patience(10'000));
    qInfo("all views alive %lld ms after the start", started);
    if (qEnvironmentVariableIsSet("MPM_QUIET_MACHINE"))
        QVERIFY2(started < 5'000, qPrintable(QString::number(started)));
}

MPM_CORE_TEST(DemoTest);
#include "demo_test.moc"
