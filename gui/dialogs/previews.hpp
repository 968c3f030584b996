// A thread that finds the first image and the duration of each of several videos.
#pragma once

#include <QImage>
#include <QStringList>

#include "gui/engine/worker.hpp"

namespace mpm::gui {

class Previews : public Worker {
    Q_OBJECT
public:
    explicit Previews(QStringList files) : Worker("previews"), m_files(std::move(files)) {}
    ~Previews() override { finish(); }

    static constexpr int kWidth = 96;

signals:
    /// Emitted for each file with an image. `seconds`: 0 if the duration is unknown.
    void found(const QString& file, const QImage& image, double seconds);

protected:
    void work() override;

private:
    const QStringList m_files;
};

}  // namespace mpm::gui
