// Finds the best speed of a model in the background: `mpm tune` on images of the window, in a child process.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <QImage>

#include "base/child_process.hpp"
#include "gui/engine/worker.hpp"

namespace mpm::gui {

/// A candidate that no other beats in both speed and agreement.
struct TunedMethod {
    QString method;  ///< with its parameters
    std::vector<int> blocks;
    double speed = 0;  ///< times as fast as all tokens
    double agreement = 0, worstTenth = 0;
};

struct TuneFound {
    QString model;
    int images = 0;
    std::vector<TunedMethod> unbeaten;  ///< fastest first
    std::optional<TunedMethod> chosen;
    bool complete = true;  ///< false: the time ended before all images were measured
    QString remark;        ///< why none is chosen: a plain line
};

class ModelTuner : public Worker {
    Q_OBJECT
public:
    ModelTuner();
    /// Ends a search in progress.
    ~ModelTuner() override { finish(); }

    /// Returns at once, as do all functions below; only the last request counts. The images are in a private
    /// folder within `folder` until the search ends.
    void tune(const QString& model, const std::vector<QImage>& images, const QString& folder);
    /// Writes FOLDER/NAME-tuned.onnx: the model with this method and these blocks.
    void write(const QString& model, const TunedMethod& method, const QString& folder);
    /// Ends the present search at once and drops a waiting search.
    void cancel();

    /// Sets the program `mpm` of every tuner made from now on; by default `mpm` next to this program.
    static void setProgram(const QString& program);

signals:
    void found(const mpm::gui::TuneFound& found);
    /// `message`: one plain line.
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
