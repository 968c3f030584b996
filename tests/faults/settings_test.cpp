// Tests the monitor's settings, once for each system call that may fail. If the argument is a model's name,
// this program is the program under test: it reads, changes and writes the settings.
#include <cstdio>
#include <filesystem>

#include <gtest/gtest.h>

#include "faults/trial.hpp"
#include "gui/services/watch_settings.hpp"
#include "gui/session/profile.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::gui {
namespace {

constexpr int kFew = 26;
const char* const kWatch = "config/mpm/monitor/x.watch.json";
const char* const kProfile = "config/mpm/monitor/x.ini";

int changeTo(const char* model) {
    try {
        Profile profile(QStringLiteral("x"));
        WatchSettings watch = readWatchSettings(profile.watchPath());
        watch.sources[QStringLiteral("camera")].regions = {{model, {{0, 0}, {1, 0}, {1, 1}}}};
        watch.mqtt.host = QLatin1String(model);
        writeWatchSettings(profile.watchPath(), watch);
        ProfileState state = profile.load();
        state.model = QLatin1String(model);
        state.hiddenClasses = {QStringLiteral("sky"), QStringLiteral("road")};
        if (profile.save(state)) return 0;
        std::fputs("settings: they cannot be written\n", stderr);
    } catch (const std::bad_alloc&) {
        std::fputs("settings: out of memory\n", stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "settings: %s\n", error.what());
    }
    return 1;
}

TEST(SettingsFaults, TheOldOnesOrTheNewOnes) {
    test::Faulty program{
        "settings", {fs::read_symlink("/proc/self/exe").string(), "new"}, {{kWatch}, {kProfile}}};
    program.environment = {"XDG_CONFIG_HOME=@/config"};
    program.prefix = "settings: ";
    test::Faulty before = program;
    before.command[1] = "before";
    const test::TempFolder first;
    fs::create_directories(first / "work");
    ASSERT_EQ(test::runWith(before, "", first / "work").status, 0);
    program.prepare = [&](const fs::path& folder, bool old) {
        if (old) fs::copy(first / "work", folder, fs::copy_options::recursive);
    };
    const int points = test::faultPoints(kFew);
    EXPECT_GE(test::tryFaults(program, points), points);
}

}  // namespace
}  // namespace mpm::gui

int main(int argc, char** argv) {
    if (argc == 2 && argv[1][0] != '-') return mpm::gui::changeTo(argv[1]);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
