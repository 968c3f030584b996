#include "gui/services/thumbnails.hpp"

#include <algorithm>

#include <QBuffer>
#include <QDateTime>
#include <QDir>

#include "base/private_files.hpp"
#include "gui/engine/whole_file.hpp"

namespace mpm::gui {

namespace {

constexpr std::size_t kMostImagesWaiting = 30;  // if more wait (slow disk), images are dropped
constexpr int kQuality = 80;

}  // namespace

Thumbnails::Thumbnails(const QString& folder) : Worker("thumbnails"), m_folder(folder) {
    start(QThread::LowPriority);
}

void Thumbnails::setSettings(const ThumbnailSettings& settings) {
    change([&] {
        m_settings = settings;
        m_limited = true;
    });
}

void Thumbnails::noteEvent(const QString& source) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_sources[topicWord(source)].eventDue = true;
}

void Thumbnails::add(const QString& source, const QImage& image, qint64 time) {
    if (image.isNull()) return;
    const QString name = topicWord(source);
    const std::lock_guard<std::mutex> lock(m_mutex);
    Kept& kept = m_sources[name];
    // An image is also due if the clock was set back: reaching the time of the last image could take years.
    const bool due = kept.eventDue || !kept.last || time - *kept.last >= kEvery || time < *kept.last;
    if (!m_settings.on || !due || m_tasks.size() >= kMostImagesWaiting) return;
    kept.eventDue = false;
    kept.last = time;
    m_tasks.push_back({name, image, time});
    m_changed.notify_all();
}

QString Thumbnails::nearest(const QString& source, qint64 time, qint64 reach) const {
    const QString name = topicWord(source);
    const std::lock_guard<std::mutex> lock(m_mutex);
    const auto found = m_sources.find(name);
    if (found == m_sources.end() || found->second.bytes.empty()) return {};
    const std::map<qint64, qint64>& times = found->second.bytes;
    auto at = times.lower_bound(time);
    if (at == times.end() || (at != times.begin() && time - std::prev(at)->first < at->first - time)) --at;
    return std::abs(at->first - time) <= reach ? fileOf(name, at->first) : QString();
}

std::optional<qint64> Thumbnails::beside(const QString& source, qint64 time, int direction) const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    const auto found = m_sources.find(topicWord(source));
    if (found == m_sources.end()) return std::nullopt;
    const std::map<qint64, qint64>& times = found->second.bytes;
    const auto at = direction > 0 ? times.upper_bound(time) : times.lower_bound(time);
    if (direction > 0) return at == times.end() ? std::nullopt : std::optional(at->first);
    return at == times.begin() ? std::nullopt : std::optional(std::prev(at)->first);
}

QString Thumbnails::fileOf(const QString& name, qint64 time) const {
    return QStringLiteral("%1/%2/%3.jpg").arg(m_folder, name).arg(time);
}

void Thumbnails::work() {
    readFolder();
    while (true) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return stopping() || !m_tasks.empty(); });
        if (m_tasks.empty()) return;  // ends only after all waiting images are written
        const Task task = std::move(m_tasks.front());
        m_tasks.pop_front();
        lock.unlock();
        write(task);
        prune();
    }
}

void Thumbnails::readFolder() {
    for (const QFileInfo& source :
         QDir(m_folder).entryInfoList(QDir::Dirs | QDir::NoDotAndDotDot | QDir::NoSymLinks))
        for (const QFileInfo& file :
             QDir(source.filePath()).entryInfoList({QStringLiteral("*.jpg")}, QDir::Files)) {
            bool ok = false;
            const qint64 time = file.completeBaseName().toLongLong(&ok);
            if (!ok) continue;
            const std::lock_guard<std::mutex> lock(m_mutex);
            m_sources[source.fileName()].bytes[time] = file.size();
            m_bytes += file.size();
        }
    setClock();
    prune();
}

void Thumbnails::setClock() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    std::optional<std::chrono::milliseconds> newest;
    for (const auto& [name, source] : m_sources)
        if (!source.bytes.empty())
            newest = std::max(newest.value_or(std::chrono::milliseconds(0)),
                              std::chrono::milliseconds(source.bytes.rbegin()->first));
    m_deletionClock = DeletionClock(newest);
}

void Thumbnails::write(const Task& task) {
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    const QImage small =
        task.image.scaled(kLongSide, kLongSide, Qt::KeepAspectRatio, Qt::SmoothTransformation);
    const QImage& image =
        task.image.width() > kLongSide || task.image.height() > kLongSide ? small : task.image;
    if (!image.save(&bytes, "JPG", kQuality)) return;
    const QString file = fileOf(task.name, task.time);
    try {
        makePrivateFolders(QFileInfo(file).absolutePath().toStdString());
    } catch (const std::exception&) {
        return;  // not reported here, because the store reports a full disk
    }
    if (!writeWhole(file, bytes.data())) return;
    const std::lock_guard<std::mutex> lock(m_mutex);
    qint64& kept = m_sources[task.name].bytes[task.time];  // 0, or the size of the file that was replaced
    m_bytes += bytes.size() - std::exchange(kept, bytes.size());
}

/// Removes the oldest images of all sources until the limits are met.
void Thumbnails::prune() {
    std::unique_lock<std::mutex> lock(m_mutex);
    if (!m_limited) return;
    const qint64 now = QDateTime::currentMSecsSinceEpoch();
    const bool trusted =
        m_deletionClock.trusts(std::chrono::milliseconds(now), std::chrono::steady_clock::now());
    const qint64 oldest = trusted ? now - m_settings.days * 86'400'000LL : 0;
    const qint64 most = m_settings.megabytes * 1'048'576LL;
    while (true) {
        auto first = m_sources.end();
        for (auto at = m_sources.begin(); at != m_sources.end(); ++at)
            if (!at->second.bytes.empty() &&
                (first == m_sources.end() ||
                 at->second.bytes.begin()->first < first->second.bytes.begin()->first))
                first = at;
        if (first == m_sources.end()) return;
        const auto [time, size] = *first->second.bytes.begin();
        if (m_bytes <= most && time >= oldest) return;
        first->second.bytes.erase(time);
        m_bytes -= size;
        const QString file = fileOf(first->first, time);
        lock.unlock();
        QFile::remove(file);
        lock.lock();
    }
}

}  // namespace mpm::gui
