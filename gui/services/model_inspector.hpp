// A thread that describes a model file, which takes seconds if the file is large.
#pragma once

#include <optional>

#include "gui/engine/worker.hpp"

namespace mpm::gui {

class ModelInspector : public Worker {
    Q_OBJECT
public:
    ModelInspector() : Worker("inspector") {}
    ~ModelInspector() override { finish(); }

    /// Describes a model. Returns immediately. A later request replaces a waiting request.
    void inspect(const QString& path) { want({path, false}); }
    /// Finds out whether an unusable file is an export that can be converted. Returns immediately.
    void judge(const QString& path) { want({path, true}); }

signals:
    /// `report`: lines of plain text, or the reason why there is no report.
    void inspected(const QString& path, const QString& report);
    /// `problem`: why the file cannot be converted, as plain text; empty if the file can be converted.
    void judged(const QString& path, const QString& problem);

protected:
    void work() override;

private:
    struct Wanted {
        QString path;
        bool judge = false;
    };
    void want(const Wanted& wanted);
    std::optional<Wanted> m_wanted;  // guarded by m_mutex
};

}  // namespace mpm::gui
