#include "gui/text/translations.hpp"

#include <QCoreApplication>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

/// Initialises the resources of this static library. Q_INIT_RESOURCE must be outside every namespace.
static void initTranslations() {
    Q_INIT_RESOURCE(mpm_translations);
}

namespace mpm::gui {

void installTranslations(QCoreApplication& application, const QLocale& locale) {
    initTranslations();
    const auto install = [&](const QString& name, const QString& folder) {
        auto* translator = new QTranslator(&application);
        if (translator->load(locale, name, QStringLiteral("_"), folder))
            QCoreApplication::installTranslator(translator);
        else
            delete translator;
    };
    install(QStringLiteral("qtbase"), QLibraryInfo::path(QLibraryInfo::TranslationsPath));
    install(QStringLiteral("mpm-monitor"), QStringLiteral(":/translations"));
}

}  // namespace mpm::gui
