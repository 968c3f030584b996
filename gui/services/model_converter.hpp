// Converts a raw ONNX export beside everything else.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "gui/engine/worker.hpp"

namespace mpm::gui {

class ModelConverter : public Worker {
    Q_OBJECT
public:
    explicit ModelConverter(QObject* parent = nullptr);
    /// Waits for a conversion in progress.
    ~ModelConverter() override;

    /// Makes FOLDER/NAME-mpm.onnx. Returns at once; only the last one asked for counts.
    void convert(const QString& file, const QString& folder);

signals:
    void converted(const QString& file, const QString& made);
    /// `message` in the converter's own words.
    void refused(const QString& file, const QString& message);

protected:
    void work() override;
    void wake() override;

private:
    struct Wanted {
        QString file, folder;
    };
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::optional<Wanted> m_wanted;
};

}  // namespace mpm::gui
