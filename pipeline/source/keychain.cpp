#include "pipeline/source/address.hpp"

#include "base/printable.hpp"
#include "pipeline/source/source.hpp"

#ifdef MPM_WITH_KEYCHAIN
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include <libsecret/secret.h>
#endif

namespace mpm::pipeline {

#ifdef MPM_WITH_KEYCHAIN

namespace {

constexpr std::chrono::seconds kPersonPatience{60};  // a person may have to type the keychain's password

/// The schema of the keychain's entries. The schema is that of QtKeychain, because the monitor stores secrets
/// with QtKeychain. A search ignores the schema's name.
const SecretSchema kSchema = {"org.qt.keychain",
                              SECRET_SCHEMA_DONT_MATCH_NAME,
                              {{"user", SECRET_SCHEMA_ATTRIBUTE_STRING},
                               {"server", SECRET_SCHEMA_ATTRIBUTE_STRING},
                               {"type", SECRET_SCHEMA_ATTRIBUTE_STRING},
                               {nullptr, SECRET_SCHEMA_ATTRIBUTE_STRING}},
                              0,
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr};
constexpr const char* kService = "mpm-monitor";

/// Cancels a call to libsecret if the call takes too long.
class Deadline {
public:
    explicit Deadline(GCancellable* job)
        : m_thread([this, job] {
              std::unique_lock<std::mutex> lock(m_mutex);
              if (!m_changed.wait_for(lock, kPersonPatience, [this] { return m_done; }))
                  g_cancellable_cancel(job);
          }) {}
    ~Deadline() {
        {
            std::lock_guard<std::mutex> lock(m_mutex);
            m_done = true;
        }
        m_changed.notify_all();
        m_thread.join();
    }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_done = false;
    std::thread m_thread;
};

}  // namespace

std::string secretFromKeychain(const std::string& name) {
    const std::string shown = Address("secret:" + name).shown();
    const std::unique_ptr<GCancellable, void (*)(gpointer)> job(g_cancellable_new(), g_object_unref);
    GError* error = nullptr;
    gchar* found = nullptr;
    {
        const Deadline deadline(job.get());
        found = secret_password_lookup_sync(&kSchema, job.get(), &error, "user", name.c_str(), "server",
                                            kService, nullptr);
    }
    if (error != nullptr) {
        const std::string reason = g_cancellable_is_cancelled(job.get()) != 0
                                       ? "nobody unlocked it for 60 seconds"
                                       : printable(error->message, 200);
        g_error_free(error);
        throw SourceError(SourceProblem::Kind::KeychainUnavailable, shown, {reason});
    }
    if (found == nullptr) throw SourceError(SourceProblem::Kind::NoKeychainEntry, shown);
    const std::string secret = found;
    secret_password_free(found);
    return secret;
}

#else

std::string secretFromKeychain(const std::string& name) {
    throw SourceError(SourceProblem::Kind::BuiltWithoutKeychain, Address("secret:" + name).shown());
}

#endif

}  // namespace mpm::pipeline
