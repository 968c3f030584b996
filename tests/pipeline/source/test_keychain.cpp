// Addresses secret:NAME with a keychain. Must be run on a separate session bus (dbus-run-session).
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <libsecret/secret.h>

#include "pipeline/source/source.hpp"
#include "support/temp_folder.hpp"

namespace mpm::pipeline {
namespace {

/// Starts gnome-keyring, unlocked, with files in a temporary folder.
class Keyring {
public:
    Keyring() {
        setenv("HOME", m_home.path().c_str(), 1);
        setenv("XDG_DATA_HOME", m_home.path().c_str(), 1);
        int password[2];
        if (pipe2(password, O_CLOEXEC) != 0) return;
        m_child = fork();
        if (m_child == 0) {
            dup2(password[0], STDIN_FILENO);
            execlp("gnome-keyring-daemon", "gnome-keyring-daemon", "--unlock", "--foreground",
                   "--components=secrets", nullptr);
            _exit(127);
        }
        static_cast<void>(!write(password[1], "login-password\n", 15));
        close(password[0]);
        close(password[1]);
    }
    ~Keyring() {
        kill(m_child, SIGTERM);
        waitpid(m_child, nullptr, 0);
    }
    Keyring(const Keyring&) = delete;
    Keyring& operator=(const Keyring&) = delete;

    /// Returns whether the keyring is on the bus. Secrets must not be read earlier: that would start a second
    /// keyring, which is locked.
    static bool isThere() {
        GDBusConnection* bus = g_bus_get_sync(G_BUS_TYPE_SESSION, nullptr, nullptr);
        if (bus == nullptr) return false;
        GVariant* reply = g_dbus_connection_call_sync(
            bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
            g_variant_new("(s)", "org.freedesktop.secrets"), G_VARIANT_TYPE("(b)"), G_DBUS_CALL_FLAGS_NONE,
            1000, nullptr, nullptr);
        gboolean owned = FALSE;
        if (reply != nullptr) {
            g_variant_get(reply, "(b)", &owned);
            g_variant_unref(reply);
        }
        g_object_unref(bus);
        return owned != FALSE;
    }
    bool ended() const { return waitpid(m_child, nullptr, WNOHANG) != 0; }

private:
    test::TempFolder m_home;
    pid_t m_child = -1;
};

/// Stores a secret as QtKeychain stores the monitor's passwords.
bool keep(const char* name, const char* secret) {
    static const SecretSchema schema = {"org.qt.keychain",
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
    GError* error = nullptr;
    const bool kept =
        secret_password_store_sync(&schema, SECRET_COLLECTION_DEFAULT, name, secret, nullptr, &error, "user",
                                   name, "server", "mpm-monitor", "type", "plaintext", nullptr) != 0;
    if (error != nullptr) g_error_free(error);
    return kept;
}

std::string told(const char* name) {
    try {
        return resolved(name).reveal();
    } catch (const SourceError& error) {
        return std::string("error: ") + error.what();
    }
}

TEST(Keychain, HasSourcesThatTheMonitorKept) {
    if (std::getenv("DBUS_SESSION_BUS_ADDRESS") == nullptr) GTEST_SKIP() << "there is no session bus";
    Keyring keyring;
    bool kept = false;
    for (int i = 0; i < 100 && !kept && !keyring.ended(); ++i) {
        kept = Keyring::isThere() && keep("yard", "rtsp://admin:Zq9secret@camera/1");
        if (!kept) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (!kept) GTEST_SKIP() << "gnome-keyring cannot run here";
    EXPECT_EQ(told("secret:yard"), "rtsp://admin:Zq9secret@camera/1");
    const Address address = resolved("secret:yard");
    EXPECT_EQ(address.shown(), "secret:yard");
    EXPECT_EQ(makeSource("secret:yard")->name(), "secret:yard");
    EXPECT_EQ(sourceKind("secret:yard"), SourceKind::Stream);
    EXPECT_NE(told("secret:nobody").find("secret:nobody: the keychain has no such entry"), std::string::npos);
}

TEST(Keychain, ThatIsNotThereIsAClearError) {
    setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
    // Runs in a separate process, because libsecret keeps the connection to the bus open.
    EXPECT_EXIT(
        {
            const std::string text = told("secret:yard");
            const bool clear = text.find("error: secret:yard: the keychain is not available") == 0;
            if (!clear) std::fprintf(stderr, "%s\n", text.c_str());
            std::_Exit(clear ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mpm::pipeline
