// Measures and prints latencies, and checks limits that hold on any machine. Set MPM_QUIET_MACHINE only if no
// other program runs: the test then also checks stricter limits.
#include <QElapsedTimer>
#include <QWheelEvent>

#include "gui/registry.hpp"
#include "gui/views/live_view.hpp"
#include "gui/views/merge_view.hpp"
#include "gui/views/overlay_view.hpp"
#include "gui/views/split_view.hpp"
#include "gui/window_fixture.hpp"
#include "pipeline/source/stream_server.hpp"
#include "street/street.hpp"

using namespace mpm::gui;

namespace {

constexpr int kBits = 32, kBlock = 16;  // bits of a stamp (24 of milliseconds, 8 to check), pixels of a block
constexpr std::uint32_t kTimes = (1U << 24) - 1;
constexpr std::chrono::milliseconds kPause{33};  // between two frames of the camera

bool quiet() {
    return qEnvironmentVariableIsSet("MPM_QUIET_MACHINE");
}

std::uint32_t now() {
    const auto since = Steady::now().time_since_epoch();
    return std::uint32_t(std::chrono::duration_cast<std::chrono::milliseconds>(since).count()) & kTimes;
}

std::uint32_t checked(std::uint32_t time) {
    return time << 8 | ((time ^ time >> 8 ^ time >> 16 ^ 0x5A) & 0xFF);
}

/// Writes the time along the upper edge as black and white blocks, which survive JPEG and colour conversion.
void stamp(cv::Mat& image, std::uint32_t time) {
    const std::uint32_t code = checked(time);
    for (int bit = 0; bit < kBits; ++bit)
        image(cv::Rect(bit * kBlock, 0, kBlock, kBlock)).setTo(cv::Scalar::all(code >> bit & 1 ? 255 : 0));
}

/// Reads the time from the blocks; empty if the check bits are wrong.
std::optional<std::uint32_t> read(const QImage& image) {
    if (image.width() < kBits * kBlock) return std::nullopt;
    std::uint32_t code = 0;
    for (int bit = 0; bit < kBits; ++bit)
        if (qGray(image.pixel(bit * kBlock + kBlock / 2, kBlock / 2)) > 127) code |= 1U << bit;
    return checked(code >> 8) == code ? std::optional(code >> 8) : std::nullopt;
}

double percentile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, std::size_t(share * double(values.size())))];
}

/// A camera whose frames show when they were taken.
class StampedCamera {
public:
    StampedCamera() : m_street(mpm::street::Street({640, 480}, 11, 1).at(14, 0).image) {
        m_server.setFilm(
            [this] {
                cv::Mat image = m_street.clone();
                std::vector<unsigned char> jpeg;
                stamp(image, now());
                cv::imencode(".jpg", image, jpeg);
                return jpeg;
            },
            kPause);
        m_server.start();
    }
    QString url() const { return QString::fromStdString(m_server.url()); }

private:
    const cv::Mat m_street;
    mpm::test::StreamServer m_server;
};

/// Collects the times from a frame's stamp to its first paint.
struct Shown {
    std::vector<double> ages;
    std::uint32_t last = 0;
    bool rising = true;
    int unread = 0;

    void see(const QImage& image) {
        const auto time = read(image);
        if (!time) {
            unread += !image.isNull();
            return;
        }
        if (*time == last) return;  // the same frame, painted again
        rising = rising && *time > last;
        last = *time;
        ages.push_back(double((now() - *time) & kTimes));
    }
};

}  // namespace

class SpeedTest : public QObject {
    Q_OBJECT
private slots:
    void init() { m_is = std::make_unique<test::WindowFixture>(); }
    void cleanup() { m_is.reset(); }
    void inputIsSeenWhileTheNetworkIsBusy();
    void firstFrameComesSoonAndDrawingIsCheap();
    void glassToGlass();

private:
    std::unique_ptr<test::WindowFixture> m_is;
};

/// Measures the time from a mouse event to the repaint, while the network analyses frames of 640x480.
void SpeedTest::inputIsSeenWhileTheNetworkIsBusy() {
    Options options;
    options.source = QStringLiteral("demo");
    options.view = QStringLiteral("overlay");  // the overview hides the overlay if reuse runs beside
    m_is->open(options);
    QVERIFY(m_is->next());
    ImageView* view = m_is->window->views()->find<OverlayView>();
    QTRY_VERIFY_WITH_TIMEOUT(!view->image().isNull(), test::patience(10'000));
    std::vector<double> waits;
    QElapsedTimer since;
    bool wanted = false;
    connect(view, &ImageView::painted, this, [&] {
        if (std::exchange(wanted, false)) waits.push_back(double(since.nsecsElapsed()) / 1e6);
    });
    const int before = m_is->count;
    for (int i = 0; i < 200; ++i) {
        // Posts the event like the window system, so that it waits behind other events.
        auto* wheel = new QWheelEvent(QPointF(40 + i % 50, 40), view->mapToGlobal(QPointF(40 + i % 50, 40)),
                                      {}, {0, i % 2 == 0 ? 120 : -120}, Qt::NoButton, Qt::NoModifier,
                                      Qt::NoScrollPhase, false);
        wanted = true;
        since.start();
        QCoreApplication::postEvent(view, wheel);
        QVERIFY(QTest::qWaitFor([&] { return !wanted; }, test::patience(5'000)));
        QTest::qWait(7);
    }
    std::sort(waits.begin(), waits.end());
    const double p50 = waits[waits.size() / 2], p99 = waits[waits.size() * 99 / 100];
    qInfo("input to repaint: median %.1f ms, p99 %.1f ms, %d frames meanwhile", p50, p99,
          m_is->count - before);
    QVERIFY(m_is->count > before + 3);  // the network was busy
    const double allowed = quiet() ? 50 : 150;
    QVERIFY2(p99 < allowed, qPrintable(QString::number(p99)));
}

void SpeedTest::firstFrameComesSoonAndDrawingIsCheap() {
    QElapsedTimer timer;
    timer.start();
    Options options;
    options.source = QStringLiteral("demo");
    m_is->open(options);
    ViewArea* views = m_is->window->views();
    const auto alive = [&] {
        return !views->find<LiveView>()->image().isNull() && !views->find<OverlayView>()->image().isNull() &&
               !views->find<MergeView>()->image().isNull() && !views->find<SplitView>()->image().isNull();
    };
    QTRY_VERIFY_WITH_TIMEOUT(alive(), test::patience(20'000));
    const qint64 started = timer.elapsed();
    std::vector<double> shares;
    connect(&m_is->window->engine(), &Engine::rendered, this, [&](const RenderedFrame& drawn) {
        shares.push_back(drawn.drawMs / (drawn.analysis->networkMs() + drawn.drawMs));
    });
    QTRY_VERIFY_WITH_TIMEOUT(shares.size() >= 15, test::patience(30'000));
    std::sort(shares.begin(), shares.end());
    const double share = shares[shares.size() / 2];
    qInfo("all views alive after %lld ms, drawing %.1f %% of a frame", started, 100 * share);
    QVERIFY2(started < 5'000 || !quiet(), qPrintable(QString::number(started)));
    QVERIFY2(share < 0.10, qPrintable(QString::number(share)));
}

/// Measures the age of frames of an HTTP camera when *Image* and *Overlay* first show them.
void SpeedTest::glassToGlass() {
    StampedCamera camera;
    Options options;
    options.source = camera.url();
    m_is->open(options);
    ViewArea* views = m_is->window->views();
    views->showView(QStringLiteral("overlay"));
    QVERIFY(m_is->next());
    QVERIFY(m_is->next());
    Shown overlay, live;
    QImage analysed;  // the frame under the overlay on the screen
    std::vector<double> network;
    connect(&m_is->window->engine(), &Engine::rendered, this, [&](const RenderedFrame& drawn) {
        analysed = drawn.analysis->frame.image;
        network.push_back(drawn.analysis->networkMs());
    });
    connect(views->find<OverlayView>(), &ImageView::painted, this, [&] { overlay.see(analysed); });
    connect(views->find<LiveView>(), &ImageView::painted, this,
            [&] { live.see(views->find<LiveView>()->image()); });
    QTRY_VERIFY_WITH_TIMEOUT(overlay.ages.size() >= 100, test::patience(120'000));
    // Only one view is painted at a time. Now it is *Image*, while the network continues.
    views->showView(QStringLiteral("picture"));
    QTRY_VERIFY_WITH_TIMEOUT(live.ages.size() >= 200, test::patience(60'000));
    m_is->window->engine().disconnect(this);
    QVERIFY2(overlay.rising && live.rising, "an older frame was shown after a newer one");
    QCOMPARE(overlay.unread + live.unread, 0);
    const double time = percentile(network, 0.5);
    qInfo(
        "network %.0f ms; from the camera to the overlay: median %.0f ms, p95 %.0f ms; to the image: "
        "median %.0f ms, p99 %.0f ms",
        time, percentile(overlay.ages, 0.5), percentile(overlay.ages, 0.95), percentile(live.ages, 0.5),
        percentile(live.ages, 0.99));
    if (!quiet()) return;
    QVERIFY(percentile(overlay.ages, 0.5) < 2 * time);
    QVERIFY(percentile(live.ages, 0.5) < 2 * time);
}

MPM_GUI_TEST(SpeedTest);
#include "speed_test.moc"
