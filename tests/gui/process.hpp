// A program run from outside, and what it said.
#pragma once

#include <QProcess>
#include <QString>

namespace mpm::gui::test {

struct Outcome {
    int status = -1;
    QString out, err;
};

inline Outcome finish(QProcess& process, int patience = 60'000) {
    if (!process.waitForFinished(patience)) process.kill();
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            QString::fromUtf8(process.readAllStandardOutput()),
            QString::fromUtf8(process.readAllStandardError())};
}

inline Outcome run(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    return finish(process);
}

}  // namespace mpm::gui::test
