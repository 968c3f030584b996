// First image and duration of videos, one after the other, in a thread.
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
    /// `seconds`: 0 if the file does not name its length. A file without an image is left out.
    void found(const QString& file, const QImage& image, double seconds);

protected:
    void work() override;

private:
    const QStringList m_files;
};

}  // namespace mpm::gui
