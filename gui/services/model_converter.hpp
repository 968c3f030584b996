// A thread that converts an ONNX export, in a separate process because the file is not trusted.
#pragma once

#include <optional>

#include "gui/engine/worker.hpp"
#include "models/onnx/contained.hpp"

namespace mpm::gui {

class ModelConverter : public Worker {
    Q_OBJECT
public:
    ModelConverter();
    /// Ends a conversion that is in progress.
    ~ModelConverter() override { finish(); }

    /// Converts to FOLDER/NAME-mpm.onnx. Returns immediately. A later request replaces a waiting request.
    void convert(const QString& file, const QString& folder);
    /// Ends a conversion in progress immediately, and drops a waiting conversion.
    void cancel();

    /// Must be called before the first conversion.
    void setLimits(const models::ContainedLimits& limits) { m_limits = limits; }
    /// Sets the program of the child process, for each ModelConverter made after this call. A test must set
    /// the path of the monitor, because the test program cannot convert.
    static void setProgram(const QString& program);

signals:
    void started(const QString& file);
    void converted(const QString& file, const QString& made);
    /// `message`: a line of plain text.
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
