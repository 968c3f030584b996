#include "gui/views/night_view.hpp"

#include <cmath>

#include <QHBoxLayout>
#include <QSlider>

#include "gui/text/numbers.hpp"
#include "gui/widgets/plain_widgets.hpp"
#include "gui/widgets/tile_area.hpp"

namespace mpm::gui {

namespace {

// The slider is logarithmic, because the number of photons spans three powers of ten.
constexpr double kLeastPhotons = 5, kMostPhotons = 5'000;
constexpr int kPhotonSteps = 300, kLuminanceSteps = 100, kDeviationSteps = 150;

double photonsAt(int step) {
    return kLeastPhotons * std::pow(kMostPhotons / kLeastPhotons, double(step) / kPhotonSteps);
}

int stepOf(double photons) {
    return static_cast<int>(std::lround(kPhotonSteps * std::log(photons / kLeastPhotons) /
                                        std::log(kMostPhotons / kLeastPhotons)));
}

}  // namespace

NightView::NightView(Viewport* viewport, QWidget* parent)
    : QWidget(parent),
      m_day(new ImageView(tr("As it is"), viewport)),
      m_night(new ImageView(tr("Night, simulated"), viewport)),
      m_tiles(new TileArea),
      m_shows(new QComboBox),
      m_summary(plainLabel()) {
    m_day->setEmptyText(tr("The frame as the camera sees it appears here"));
    m_night->setEmptyText(tr("The same frame at night appears here"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    m_tiles->setTiles({m_day, m_night});
    layout->addWidget(m_tiles, 1);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    layout->addLayout(row);
    m_luminance = addSlider(row, tr("Light"), &m_luminanceText, kLuminanceSteps);
    m_photons = addSlider(row, tr("Photons"), &m_photonsText, kPhotonSteps);
    m_deviation = addSlider(row, tr("Noise"), &m_deviationText, kDeviationSteps);
    setPlainToolTip(m_luminance, tr("Share of daylight that is left"));
    setPlainToolTip(m_photons, tr("Photons counted where a pixel is white: fewer are noisier (Poisson)"));
    setPlainToolTip(m_deviation, tr("Thermal noise: its standard deviation on values of 0 to 1 (Gaussian)"));
    m_shows->addItems({tr("Merge maps"), tr("Segmentation"), tr("Images")});
    m_shows->setAccessibleName(tr("Content of day and night"));
    row->addWidget(m_shows);
    connect(m_shows, &QComboBox::currentIndexChanged, this, &NightView::showsChanged);
    QToolButton* reset = smallButton(tr("Reset"));
    row->addWidget(reset);
    connect(reset, &QToolButton::clicked, this, [this] {
        setParameters({});
        emit parametersChanged(parameters());
    });
    m_summary->setMinimumHeight(m_summary->fontMetrics().height());
    layout->addWidget(m_summary);
    setParameters({});
}

QSlider* NightView::addSlider(QLayout* layout, const QString& name, QLabel** value, int most) {
    auto* row = static_cast<QHBoxLayout*>(layout);
    auto* label = plainLabel(name);
    auto* slider = new QSlider(Qt::Horizontal);
    slider->setRange(most == kPhotonSteps ? 0 : most == kLuminanceSteps ? 2 : 0, most);
    slider->setAccessibleName(name);
    label->setBuddy(slider);
    *value = plainLabel();
    (*value)->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("0.000")) + 4);
    row->addWidget(label);
    row->addWidget(slider, 1);
    row->addWidget(*value);
    connect(slider, &QSlider::valueChanged, this, &NightView::showValues);
    connect(slider, &QSlider::valueChanged, this, [this] { emit parametersChanged(parameters()); });
    return slider;
}

street::NightParameters NightView::parameters() const {
    const int step = m_photons->value();
    const bool given = m_givenPhotons > 0 && step == stepOf(m_givenPhotons);
    return {m_luminance->value() / double(kLuminanceSteps), given ? m_givenPhotons : photonsAt(step),
            m_deviation->value() / 1000.0};
}

void NightView::setParameters(const street::NightParameters& parameters) {
    const QSignalBlocker block(this);
    m_luminance->setValue(static_cast<int>(std::lround(parameters.luminance * kLuminanceSteps)));
    m_givenPhotons = parameters.photons;
    m_photons->setValue(stepOf(parameters.photons));
    m_deviation->setValue(static_cast<int>(std::lround(parameters.deviation * 1000)));
    showValues();
}

void NightView::showValues() {
    const street::NightParameters p = parameters();
    m_luminanceText->setText(readable(p.luminance, 2));
    m_photonsText->setText(QString::number(p.photons, 'f', 0));
    m_deviationText->setText(readable(p.deviation, 3));
}

void NightView::setNight(const RenderedNight& drawn) {
    const NightPair& pair = *drawn.pair;
    m_day->setImage(drawn.day);
    m_night->setImage(drawn.night);
    m_tiles->setAspect(double(drawn.day.width()) / std::max(1, drawn.day.height()));
    const int in = pair.analysis->tokensIn();
    m_day->setNote(tr("%1 of %2 tokens").arg(pair.analysis->tokensKept()).arg(in));
    m_night->setNote(tr("%1 of %2 tokens").arg(pair.tokensKept()).arg(in));
    const double fewer = pair.fewerMerged();
    m_summary->setText((fewer >= 0 ? tr("By day %1 tokens merge away, by night %2: %3 % fewer")
                                   : tr("By day %1 tokens merge away, by night %2: %3 % more"))
                           .arg(in - pair.analysis->tokensKept())
                           .arg(in - pair.tokensKept())
                           .arg(readable(std::abs(fewer), 1)));
}

void NightView::setCovers(const Covers& covers) {
    m_day->setCover(covers.first());
    m_night->setCover(covers.first());
}

void NightView::clear() {
    for (ImageView* view : {m_day, m_night})
        view->clear();
    m_summary->clear();
}

}  // namespace mpm::gui
