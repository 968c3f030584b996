#include "gui/services/model_tuner.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <QBuffer>
#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcessEnvironment>

#include <opencv2/core.hpp>

#include "base/private_files.hpp"
#include "gui/services/secrets.hpp"
#include "gui/text/safe_text.hpp"
#include "models/onnx/inspect.hpp"

namespace fs = std::filesystem;

namespace mpm::gui {

namespace {

constexpr double kLongestSearch = 1800;  // seconds; by default, mpm tune stops measuring after two minutes
constexpr std::size_t kMostOutput = 65'536;

QString& tuneProgram() {
    static QString program;
    return program;
}

/// Returns the path of `mpm`: in the folder of this program or, in a build tree, in ../cli.
std::string programPath() {
    if (!tuneProgram().isEmpty()) return tuneProgram().toStdString();
    const QString here = QCoreApplication::applicationDirPath();
    const QString beside = here + QStringLiteral("/mpm"), built = here + QStringLiteral("/../cli/mpm");
    const bool inTree = !QFileInfo(beside).isExecutable() && QFileInfo(built).isExecutable();
    return (inTree ? built : beside).toStdString();
}

/// Returns the environment without the addresses of sources, which the child process does not need.
std::vector<std::string> childEnvironment() {
    QProcessEnvironment settings = QProcessEnvironment::systemEnvironment();
    for (const QString& name : variablesOfSources())
        settings.remove(name);
    std::vector<std::string> all;
    for (const QString& setting : settings.toStringList())
        all.push_back(setting.toStdString());
    return all;
}

/// Writes an image without loss, so that the network sees the pixels that the window showed.
void writeImage(const QImage& image, const std::string& file) {
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    image.save(&bytes, "PNG");
    writeAtomically(file, {bytes.data().constData(), static_cast<std::size_t>(bytes.size())});
}

TunedMethod methodFrom(const QJsonObject& row) {
    const QJsonObject agreement = row[QStringLiteral("agreement")].toObject();
    TunedMethod method{safeText(row[QStringLiteral("parameters")].toString()),
                       {},
                       row[QStringLiteral("speed")].toDouble(),
                       agreement[QStringLiteral("mean")].toDouble(),
                       agreement[QStringLiteral("worst_tenth")].toDouble()};
    for (const QJsonValue& block : row[QStringLiteral("schedule")].toArray())
        method.blocks.push_back(block.toInt());
    return method;
}

/// Reads the results from the file that `mpm tune --json` wrote. If the file does not exist, `found` does not
/// change.
void readResults(const QString& file, TuneFound& found) {
    QFile results(file);
    if (!results.open(QIODevice::ReadOnly)) return;
    const QJsonObject json = QJsonDocument::fromJson(results.readAll()).object();
    found.complete = json[QStringLiteral("complete")].toBool();
    found.images = json[QStringLiteral("images")].toInt();
    for (const QJsonValue& value : json[QStringLiteral("results")].toArray()) {
        const QJsonObject row = value.toObject();
        if (row[QStringLiteral("unbeaten")].toBool()) found.unbeaten.push_back(methodFrom(row));
        if (row[QStringLiteral("chosen")].toBool()) found.chosen = methodFrom(row);
    }
    std::sort(found.unbeaten.begin(), found.unbeaten.end(),
              [](const TunedMethod& a, const TunedMethod& b) { return a.speed > b.speed; });
}

/// Returns the last error that the program printed as "mpm: MESSAGE".
QString errorIn(const std::string& output) {
    const QString start = QStringLiteral("mpm: ");
    QString message;
    for (const QString& line : QString::fromStdString(output).split(QLatin1Char('\n')))
        if (line.startsWith(start) && !line.startsWith(start + QStringLiteral("warning: ")))
            message = safeText(line.mid(start.size()), 1000);
    return message;
}

QString reasonOf(const std::exception& error) {
    const auto* own = dynamic_cast<const cv::Exception*>(&error);
    return safeText(own != nullptr && !own->err.empty() ? own->err : error.what(), 1000);
}

std::string writeTuned(const std::string& model, const TunedMethod& method, const std::string& folder) {
    const WorkFolder work(folder);
    const std::string copy = work.path() + "/model.onnx";
    fs::copy_file(model, copy);
    models::storeMerging(copy, {method.method.toStdString(), method.blocks});
    const std::string ending = "-tuned";
    std::string name = fs::path(model).stem().string();
    if (name.size() <= ending.size() || name.compare(name.size() - ending.size(), ending.size(), ending) != 0)
        name += ending;
    const std::string made = folder + '/' + name + ".onnx";
    fs::rename(copy, made);
    syncFolder(folder);
    return made;
}

}  // namespace

ModelTuner::ModelTuner() : Worker("tuner"), m_program(programPath()) {}

void ModelTuner::setProgram(const QString& program) {
    tuneProgram() = program;
}

void ModelTuner::want(Task task) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_task = std::move(task);
    if (!isRunning()) start();
    m_changed.notify_all();
}

void ModelTuner::tune(const QString& model, const std::vector<QImage>& images, const QString& folder) {
    want([this, model, images, folder](ChildProcess& child) {
        try {
            search(model, images, folder, child);
        } catch (const std::exception& error) {
            post([this, message = reasonOf(error)] { emit failed(message); });
        }
    });
}

void ModelTuner::write(const QString& model, const TunedMethod& method, const QString& folder) {
    want([this, model, method, folder](ChildProcess&) {
        try {
            const std::string made = writeTuned(model.toStdString(), method, folder.toStdString());
            post([this, made] { emit written(QString::fromStdString(made)); });
        } catch (const std::exception& error) {
            post([this, message = reasonOf(error)] { emit notWritten(message); });
        }
    });
}

void ModelTuner::cancel() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    if (std::exchange(m_task, nullptr)) post([this] { emit cancelled(); });
    if (m_child != nullptr) m_child->stop();
}

void ModelTuner::wake() {
    cancel();
    Worker::wake();
}

void ModelTuner::work() {
    while (true) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return stopping() || m_task; });
        if (stopping()) return;
        const Task task = std::exchange(m_task, nullptr);
        ChildProcess child;
        m_child = &child;
        lock.unlock();
        task(child);
        lock.lock();
        m_child = nullptr;
    }
}

void ModelTuner::search(const QString& model, const std::vector<QImage>& images, const QString& folder,
                        ChildProcess& child) {
    TuneFound found;
    found.model = model;
    ChildEnd end;
    {
        const WorkFolder work(folder.toStdString());
        const std::string frames = work.path() + "/images", json = work.path() + "/result.json";
        makePrivateFolders(frames);
        for (std::size_t i = 0; i < images.size(); ++i)
            writeImage(images[i], frames + '/' + std::to_string(i) + ".png");
        const std::vector<std::string> words{
            "mpm", "tune", QFileInfo(model).absoluteFilePath().toStdString(), frames, "--json", json};
        child.start(m_program, words, childEnvironment(), true);
        end = child.wait(kLongestSearch, kMostOutput);
        if (end.how == ChildEnd::How::Exited) readResults(QString::fromStdString(json), found);
    }
    report(std::move(found), end);  // after the images are deleted
}

void ModelTuner::report(TuneFound found, const ChildEnd& end) {
    using How = ChildEnd::How;
    if (end.how == How::Stopped) return post([this] { emit cancelled(); });
    QString message = errorIn(end.output);
    if (end.how == How::NotStarted)
        message = tr("%1 cannot be started").arg(safeText(m_program));
    else if (end.how == How::OutOfTime)
        message = tr("it takes longer than %1 s").arg(kLongestSearch);
    else if (end.how == How::Signalled)
        message = tr("mpm tune crashed (signal %1)").arg(end.number);
    else if (message.isEmpty() && !found.chosen)
        message = tr("mpm tune ended with status %1").arg(end.number);
    if (found.unbeaten.empty()) return post([this, message] { emit failed(message); });
    if (!found.chosen) found.remark = message;
    post([this, found = std::move(found)] { emit this->found(found); });
}

}  // namespace mpm::gui
