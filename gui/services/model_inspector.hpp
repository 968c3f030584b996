// Describes a model file in the background: a large file takes seconds.
#pragma once

#include <optional>

#include "gui/engine/worker.hpp"

namespace mpm::gui {

class ModelInspector : public Worker {
    Q_OBJECT
public:
    ModelInspector() : Worker("inspector") {}
    ~ModelInspector() override { finish(); }

    /// Describes a model. Returns at once; only the last request counts.
    void inspect(const QString& path) { want({path, false}); }
    /// Finds out whether a file that cannot be used is an export that can be converted. Returns at once.
    void judge(const QString& path) { want({path, true}); }

signals:
    /// `report`: plain lines, or the reason why there are none.
    void inspected(const QString& path, const QString& report);
    /// `problem`: a plain line; empty if the file can be converted.
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
