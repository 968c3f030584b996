#include "gui/registry.hpp"

#include <cstdio>
#include <map>

#include "base/one_heap.hpp"
#include "pipeline/source/video_file.hpp"

namespace mpm::gui::test {

namespace {

std::map<QByteArray, Run>& registered() {
    static std::map<QByteArray, Run> all;
    return all;
}

}  // namespace

Registered::Registered(const char* name, Run run) {
    registered()[QByteArray(name).chopped(int(qstrlen("Test"))).toLower()] = run;
}

}  // namespace mpm::gui::test

int main(int argc, char** argv) {
    mpm::useOneHeap();  // the monitor makes the same two calls
    mpm::pipeline::prepareFfmpeg();
    const auto& tests = mpm::gui::test::registered();
    const auto found = argc > 1 ? tests.find(argv[1]) : tests.end();
    if (found != tests.end()) return found->second(argc - 1, argv + 1);
    std::fprintf(stderr, "test_gui: expected one of these, then arguments of Qt Test:\n");
    for (const auto& [name, run] : tests)
        std::fprintf(stderr, "  %s\n", name.constData());
    return 2;
}
