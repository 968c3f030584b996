#include "gui/window/tune_control.hpp"

#include <algorithm>
#include <utility>

#include "gui/dialogs/tune_dialog.hpp"
#include "gui/panels/conversion_bar.hpp"
#include "gui/window/front_source.hpp"
#include "gui/window/model_control.hpp"
#include "pipeline/tune/tune.hpp"

namespace mpm::gui {

namespace {

constexpr std::chrono::milliseconds kImagesApart{500};  // shortest time between two images
constexpr std::chrono::seconds kCollectionTime{60};     // limit for a slow source
constexpr int kLongestSide = 1920;                      // in pixels; up to sixteen images are in memory

}  // namespace

TuneControl::TuneControl(const Parts& parts, FrontSource* front, ModelControl* model, QWidget* window)
    : m_parts(parts), m_front(front), m_model(model), m_window(window) {
    m_patience.setSingleShot(true);
    connect(&m_patience, &QTimer::timeout, this, &TuneControl::measure);
    connect(m_parts.conversion, &ConversionBar::cancelWanted, this, &TuneControl::cancel);
    connect(&m_tuner, &ModelTuner::found, this, &TuneControl::show);
    connect(&m_tuner, &ModelTuner::failed, this, [this](const QString& message) {
        end();
        emit messagePosted(tr("The best speed was not found: %1").arg(message), true);
    });
    connect(&m_tuner, &ModelTuner::cancelled, this, [this] {
        end();
        emit messagePosted(tr("The search for the best speed is cancelled"));
    });
    connect(&m_tuner, &Worker::crashed, this, [this](const QString& message) {
        end();
        emit messagePosted(tr("The best speed was not found: %1").arg(message), true);
    });
    connect(&m_tuner, &ModelTuner::written, this, [this](const QString& made) {
        emit messagePosted(tr("Written to %1").arg(made));
        m_model->openTuned(made);
    });
    connect(&m_tuner, &ModelTuner::notWritten, this, [this](const QString& message) {
        emit messagePosted(tr("The tuned model cannot be written: %1").arg(message), true);
    });
}

/// Returns why no search is possible now; empty if a search is possible.
QString TuneControl::whyNot() const {
    const ModelFactsPtr& facts = m_model->facts();
    if (!facts) return tr("No model");
    if (facts->random) return tr("Random weights have no best speed: open a model first");
    if (!m_parts.session->services().settings().keepsImages)
        return tr("Finding the best speed needs images, but measurements only keeps none");
    return {};
}

void TuneControl::begin() {
    if (m_parts.conversion->busy())
        return emit messagePosted(tr("Wait for the task below, or cancel it"), true);
    QString problem = whyNot();
    if (problem.isEmpty() && m_front->engine().paused())
        problem = tr("The source is paused: finding the best speed needs new images");
    if (!problem.isEmpty()) return emit messagePosted(problem, true);
    m_images.clear();
    m_generation.reset();
    m_frames = connect(&m_front->engine(), &Engine::framed, this, &TuneControl::take);
    m_patience.start(kCollectionTime);
    m_parts.conversion->begin(ConversionBar::Task::Collection, m_model->facts()->path);
}

/// Keeps the image of a frame. Ignores frames that come too soon, or from a source that was opened meanwhile.
void TuneControl::take(const LiveFrame& frame) {
    const bool soon = !m_images.empty() && frame.captured - m_last < kImagesApart;
    if (frame.image.isNull() || soon || frame.generation != m_generation.value_or(frame.generation)) return;
    m_generation = frame.generation;
    m_last = frame.captured;
    const bool large = std::max(frame.image.width(), frame.image.height()) > kLongestSide;
    m_images.push_back(
        large ? frame.image.scaled(kLongestSide, kLongestSide, Qt::KeepAspectRatio, Qt::SmoothTransformation)
              : frame.image);
    if (m_images.size() >= pipeline::kTuneImages) measure();
}

void TuneControl::measure() {
    disconnect(m_frames);
    m_patience.stop();
    const std::vector<QImage> images = std::exchange(m_images, {});
    QString problem = whyNot();  // asked again, because the settings may have changed
    if (problem.isEmpty() && images.size() < pipeline::kFewestTuneImages)
        problem = tr("Finding the best speed needs at least %1 images; %2 came in %3 s")
                      .arg(pipeline::kFewestTuneImages)
                      .arg(images.size())
                      .arg(kCollectionTime.count());
    if (!problem.isEmpty()) {
        end();
        return emit messagePosted(problem, true);
    }
    m_parts.session->network().worker().setHeld(true);
    m_parts.conversion->begin(ConversionBar::Task::Tuning, m_model->facts()->path);
    emit messagePosted(tr("Measuring the model takes two minutes at most; the analysis waits"));
    m_tuner.tune(m_model->facts()->path, images, m_model->folder());
}

void TuneControl::cancel() {
    if (m_patience.isActive()) {
        disconnect(m_frames);
        m_patience.stop();
        m_images.clear();
        end();
        return emit messagePosted(tr("The search for the best speed is cancelled"));
    }
    m_tuner.cancel();
}

void TuneControl::end() {
    m_parts.session->network().worker().setHeld(false);
    m_parts.conversion->end();
}

void TuneControl::show(const TuneFound& found) {
    end();
    auto* dialog = new TuneDialog(found, m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &TuneDialog::useWanted, this,
            [this, found] { m_tuner.write(found.model, *found.chosen, m_model->folder()); });
    dialog->open();
}

}  // namespace mpm::gui
