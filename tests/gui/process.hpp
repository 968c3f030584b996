// Runs another program and collects the output.
#pragma once

#include <QProcess>
#include <QString>
#include <QTest>

#include "gui/patience.hpp"

namespace mpm::gui::test {

struct Outcome {
    int status = -1;
    QString out, err;
};

inline Outcome finish(QProcess& process, int timeout = patience(60'000)) {
    if (!process.waitForFinished(timeout)) {
        process.kill();
        process.waitForFinished();
    }
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            QString::fromUtf8(process.readAllStandardOutput()),
            QString::fromUtf8(process.readAllStandardError())};
}

inline Outcome run(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    return finish(process);
}

/// Like run(), but runs this program's event loop while it waits.
inline Outcome runBeside(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    const bool ended =
        QTest::qWaitFor([&] { return process.state() == QProcess::NotRunning; }, patience(20'000));
    return ended ? finish(process) : Outcome{};
}

}  // namespace mpm::gui::test
