#include "gui/services/secrets.hpp"

#include <qt6keychain/keychain.h>

#include "gui/text/safe_text.hpp"
#include "pipeline/source/source.hpp"

namespace mpm::gui {

namespace {

const QString kService = QStringLiteral("mpm-monitor");
QStringList g_variables;  // used only by the thread of the window

}  // namespace

void Secrets::keep(const QString& key, const QString& secret,
                   std::function<void(const QString& problem)> then) {
    auto* job = new QKeychain::WritePasswordJob(kService, this);
    job->setInsecureFallback(false);  // without a keychain, fails instead of storing the secret in a file
    job->setKey(key);
    job->setTextData(secret);
    connect(job, &QKeychain::Job::finished, this, [then = std::move(then)](QKeychain::Job* done) {
        then(done->error() == QKeychain::NoError ? QString() : done->errorString());
    });
    job->start();
}

void Secrets::find(const QString& key,
                   std::function<void(std::optional<QString> secret, const QString& problem)> then) {
    findFirst({key}, std::move(then));
}

void Secrets::keepAddress(const QString& name, const QString& address,
                          std::function<void(const QString& problem)> then) {
    keep(keyOf(name), address, std::move(then));
}

void Secrets::findAddress(const QString& name,
                          std::function<void(std::optional<QString> address, const QString& problem)> then) {
    findFirst({keyOf(name), name}, std::move(then));
}

void Secrets::findFirst(const QStringList& keys,
                        std::function<void(std::optional<QString> secret, const QString& problem)> then) {
    auto* job = new QKeychain::ReadPasswordJob(kService, this);
    job->setInsecureFallback(false);
    job->setKey(keys.first());
    connect(job, &QKeychain::Job::finished, this, [this, job, keys, then](QKeychain::Job* done) {
        if (done->error() == QKeychain::NoError) return then(job->textData(), {});
        if (done->error() == QKeychain::EntryNotFound && keys.size() > 1) return findFirst(keys.mid(1), then);
        then(std::nullopt, done->errorString());
    });
    job->start();
}

pipeline::Address addressOf(const QString& source) {
    const QString kEnvironment = QStringLiteral("env:");
    if (source.startsWith(kEnvironment) && !g_variables.contains(source.mid(kEnvironment.size())))
        g_variables << source.mid(kEnvironment.size());
    if (keychainName(source))
        throw pipeline::SourceError(pipeline::SourceProblem::Kind::NestedName,
                                    shownKey(*keychainName(source)).toStdString());
    return pipeline::resolved(pipeline::Address(source.toStdString()));
}

const QStringList& variablesOfSources() {
    return g_variables;
}

QString storedAs(const QString& name) {
    return QStringLiteral("secret:") + name;
}

QString shownKey(const QString& key) {
    return safeText(pipeline::Address(key.toStdString()).shown());
}

std::optional<QString> keychainName(const QString& source) {
    if (source.startsWith(QStringLiteral("secret:"))) return source.mid(7);
    if (source.contains(QStringLiteral("***"))) return source;
    return std::nullopt;
}

}  // namespace mpm::gui
