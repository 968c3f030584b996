// The tests of the monitor are a single program, because linking Qt and OpenCV takes longer than compiling a
// test. A name selects the class to run: `test_gui models [arguments of Qt Test]` runs ModelsTest.
#pragma once

#include <QApplication>
#include <QTest>

namespace mpm::gui::test {

using Run = int (*)(int argc, char** argv);

struct Registered {
    /// `name` is the name of the class. On the command line, the name is in lower case and without "Test".
    Registered(const char* name, Run run);
};

template <typename Application, typename Test>
int runAll(int argc, char** argv) {
    Application application(argc, argv);
    QCoreApplication::setAttribute(Qt::AA_Use96Dpi);
    Test test;
    return QTest::qExec(&test, argc, argv);
}

}  // namespace mpm::gui::test

#define MPM_TEST_REGISTER(Test, run) const mpm::gui::test::Registered kRegistered##Test(#Test, run)
/// Registers a test with windows.
#define MPM_GUI_TEST(Test) MPM_TEST_REGISTER(Test, (mpm::gui::test::runAll<QApplication, Test>))
/// Registers a test without windows.
#define MPM_CORE_TEST(Test) MPM_TEST_REGISTER(Test, (mpm::gui::test::runAll<QCoreApplication, Test>))
