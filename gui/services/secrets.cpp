#include "gui/services/secrets.hpp"

#include <qt6keychain/keychain.h>

namespace mpm::gui {

namespace {

const QString kService = QStringLiteral("mpm-monitor");

}  // namespace

void Secrets::keep(const QString& key, const QString& secret,
                   std::function<void(const QString& problem)> then) {
    auto* job = new QKeychain::WritePasswordJob(kService, this);
    job->setInsecureFallback(false);  // never a file
    job->setKey(key);
    job->setTextData(secret);
    connect(job, &QKeychain::Job::finished, this, [then = std::move(then)](QKeychain::Job* done) {
        then(done->error() == QKeychain::NoError ? QString() : done->errorString());
    });
    job->start();
}

void Secrets::find(const QString& key,
                   std::function<void(std::optional<QString> secret, const QString& problem)> then) {
    auto* job = new QKeychain::ReadPasswordJob(kService, this);
    job->setInsecureFallback(false);
    job->setKey(key);
    connect(job, &QKeychain::Job::finished, this, [job, then = std::move(then)](QKeychain::Job* done) {
        if (done->error() == QKeychain::NoError)
            then(job->textData(), {});
        else
            then(std::nullopt, done->errorString());
    });
    job->start();
}

bool wantsPassword(const QString& source) {
    return source.contains(QStringLiteral("***"));
}

}  // namespace mpm::gui
