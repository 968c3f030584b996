// A thread that searches for a model's fastest method, among the methods with enough agreement. The thread
// runs `mpm tune` in a child process, on frames that the monitor collected.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <QImage>

#include "base/child_process.hpp"
#include "gui/engine/worker.hpp"

namespace mpm::gui {

/// A method and its blocks. No other measured method is better in both speed and agreement.
struct TunedMethod {
    QString method;  ///< the method, with its parameters
    std::vector<int> blocks;
    double speed = 0;  ///< as a multiple of the speed with all tokens
    double agreement = 0, worstTenth = 0;
};

struct TuneFound {
    QString model;
    int images = 0;
    std::vector<TunedMethod> unbeaten;  ///< fastest first
    std::optional<TunedMethod> chosen;
    bool complete = true;  ///< false if the time ran out before all images were measured
    QString remark;        ///< why no method was chosen, as a line of plain text
};

class ModelTuner : public Worker {
    Q_OBJECT
public:
    ModelTuner();
    /// Ends a search that is in progress.
    ~ModelTuner() override { finish(); }

    /// Searches for the fastest method. This and all functions below return immediately; a later request
    /// replaces a waiting request. Until the search ends, the images are in a private folder within `folder`.
    void tune(const QString& model, const std::vector<QImage>& images, const QString& folder);
    /// Writes a copy of the model with this method to FOLDER/NAME-tuned.onnx.
    void write(const QString& model, const TunedMethod& method, const QString& folder);
    /// Ends a search in progress immediately, and drops a waiting request.
    void cancel();

    /// Sets the program `mpm` for all later tuners; by default `mpm` next to this program.
    static void setProgram(const QString& program);

signals:
    void found(const mpm::gui::TuneFound& found);
    /// `message`: a line of plain text.
    void failed(const QString& message);
    void cancelled();
    void written(const QString& made);
    void notWritten(const QString& message);

protected:
    void work() override;
    void wake() override;

private:
    using Task = std::function<void(ChildProcess& child)>;
    void want(Task task);
    void search(const QString& model, const std::vector<QImage>& images, const QString& folder,
                ChildProcess& child);
    void report(TuneFound found, const ChildEnd& end);

    const std::string m_program;
    Task m_task;                      // guarded by m_mutex
    ChildProcess* m_child = nullptr;  // guarded by m_mutex
};

}  // namespace mpm::gui
