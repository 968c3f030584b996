// Converts a raw ONNX export in the background, in a process of its own: the file is not trusted.
#pragma once

#include <optional>

#include "gui/engine/worker.hpp"
#include "models/onnx/contained.hpp"

namespace mpm::gui {

class ModelConverter : public Worker {
    Q_OBJECT
public:
    ModelConverter();
    /// Ends a conversion in progress.
    ~ModelConverter() override { finish(); }

    /// Writes FOLDER/NAME-mpm.onnx. Returns at once; only the last request counts.
    void convert(const QString& file, const QString& folder);
    /// Ends the conversion in progress at once, and drops a waiting conversion.
    void cancel();

    /// Call it before the first conversion.
    void setLimits(const models::ContainedLimits& limits) { m_limits = limits; }
    /// Sets the program of every converter made from now on. Tests name the monitor: they cannot convert.
    static void setProgram(const QString& program);

signals:
    void started(const QString& file);
    void converted(const QString& file, const QString& made);
    /// `message`: one plain line.
    void rejected(const QString& file, const QString& message);
    void cancelled(const QString& file);

protected:
    void work() override;
    void wake() override;

private:
    struct Wanted {
        QString file, folder;
    };
    void report(const QString& file, const QString& made, const models::Contained& result,
                const models::ContainedLimits& limits);
    static QString messageFor(const models::Contained& result, const models::ContainedLimits& limits);

    std::optional<Wanted> m_wanted;                    // guarded by m_mutex
    models::ContainedConversion* m_running = nullptr;  // guarded by m_mutex
    const std::string m_program;
    models::ContainedLimits m_limits;
};

}  // namespace mpm::gui
