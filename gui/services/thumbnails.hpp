// Small images of the last weeks for the timeline: one for each minute and one for each event.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include <QImage>

#include "gui/engine/deletion_clock.hpp"
#include "gui/engine/worker.hpp"
#include "gui/services/watch_settings.hpp"

namespace mpm::gui {

/// A thread that writes the images; every call returns immediately. Files: FOLDER/SOURCE/MILLISECONDS.jpg.
/// All times are in milliseconds since 1970.
class Thumbnails : public Worker {
    Q_OBJECT
public:
    explicit Thumbnails(const QString& folder);
    ~Thumbnails() override { finish(); }

    void setSettings(const ThumbnailSettings& settings);
    /// Stores the image if the source's last stored image is at least a minute old (or is in the future), or
    /// if noteEvent() was called since.
    /// The caller must already have blackened the masks in `image`.
    void add(const QString& source, const QImage& image, qint64 time);
    /// Makes add() store the next image of the source.
    void noteEvent(const QString& source);
    /// Returns the file of the image nearest to `time`, at most `reach` milliseconds away; empty if there is
    /// none.
    QString nearest(const QString& source, qint64 time, qint64 reach) const;

    /// Returns the time of the nearest image before (`direction` -1) or after (1) `time`; absent if none is
    /// stored.
    std::optional<qint64> beside(const QString& source, qint64 time, int direction) const;

    static constexpr int kLongSide = 320;
    static constexpr qint64 kEvery = 60'000;

protected:
    void work() override;

private:
    struct Task {
        QString name;  // name of the source's folder
        QImage image;
        qint64 time;
    };
    struct Kept {
        std::map<qint64, qint64> bytes;  // size of each file, by time
        std::optional<qint64> last;
        bool eventDue = false;
    };
    void readFolder();
    void setClock();
    void write(const Task& task);
    void prune();
    QString fileOf(const QString& name, qint64 time) const;

    const QString m_folder;
    ThumbnailSettings m_settings;  // m_mutex guards this and all members below
    bool m_limited = false;        // whether setSettings() set the limits; before that, nothing is removed
    std::deque<Task> m_tasks;
    std::map<QString, Kept> m_sources;  // by the folder's name
    qint64 m_bytes = 0;
    DeletionClock m_deletionClock{std::nullopt};
};

}  // namespace mpm::gui
