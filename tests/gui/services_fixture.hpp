// An engine with services, connected as in the monitor.
#pragma once

#include <algorithm>

#include <QSignalSpy>
#include <QTest>

#include "gui/services/services.hpp"
#include "gui/support.hpp"

namespace mpm::gui::test {

/// A running engine with the shipped model, and its services.
struct Setup {
    explicit Setup(Sandbox& sandbox, const QString& name)
        : store(sandbox.path(name + QStringLiteral(".sqlite"))),
          engine(store),
          services(name, sandbox.path(name + QStringLiteral("-videos"))),
          said(&services, &Services::messagePosted) {
        services.attach(engine);
        engine.openModel(QStringLiteral("default"));
    }
    void open(const QString& source) {
        engine.openSource(source);
        services.sourceOpened(engine);
    }
    bool hasSaid(const QString& words) const {
        return std::any_of(said.begin(), said.end(),
                           [&](const QList<QVariant>& one) { return one[0].toString().contains(words); });
    }
    QString lastSaid() const { return said.isEmpty() ? QString() : said.last()[0].toString(); }
    QString store;
    Engine engine;
    Services services;
    QSignalSpy said;
};

inline pipeline::AlertRule rule(const char* name, pipeline::AlertRule::Of of, double threshold) {
    pipeline::AlertRule rule;
    rule.name = name;
    rule.of = of;
    rule.threshold = threshold;
    rule.desktop = false;
    return rule;
}

}  // namespace mpm::gui::test
