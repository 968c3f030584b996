// Searches texts, files and widgets for the secrets in the addresses of support/address_forms.hpp.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <QAbstractItemView>
#include <QByteArray>
#include <QDirIterator>
#include <QFile>
#include <QLabel>
#include <QTabBar>
#include <QWidget>

#include "support/address_forms.hpp"

namespace mpm::gui {

using mpm::test::AddressForm;

/// While an object of this class exists, standard error (also of libraries) goes to a file.
class ErrorOutput {
public:
    explicit ErrorOutput(const QString& file) : m_file(file), m_before(dup(STDERR_FILENO)) {
        const int out = ::open(file.toUtf8().constData(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
        dup2(out, STDERR_FILENO);
        ::close(out);
    }
    ~ErrorOutput() {
        dup2(m_before, STDERR_FILENO);
        ::close(m_before);
    }
    QByteArray said() const {
        QFile file(m_file);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("unreadable: Zq9");
    }

private:
    const QString m_file;
    const int m_before;
};

/// Returns whether the text contains no secret of `form`. Otherwise, prints `form` and `place`.
inline bool hides(const AddressForm& form, const QByteArray& text, const char* place) {
    for (const std::string& secret : form.secrets) {
        // Skips secrets without "Zq9", because they could also occur in a host, a path or a word of the
        // program.
        if (secret.find("Zq9") == std::string::npos) continue;
        if (!text.contains(secret.c_str()) && !text.toLower().contains(QByteArray(secret.c_str()).toLower()))
            continue;
        qWarning("%s: the secret of %s is in: %s", place, form.text,
                 text.mid(std::max<qsizetype>(0, text.indexOf(secret.c_str()) - 100), 300).constData());
        return false;
    }
    return true;
}

inline bool hidesAll(const QByteArray& text, const char* place) {
    bool good = !text.contains("Zq9") && !text.contains("zq9");
    for (const AddressForm& form : mpm::test::addressForms())
        good = hides(form, text, place) && good;
    if (text.contains("Zq9") || text.contains("zq9"))
        qWarning("%s: %s", place,
                 text.mid(std::max<qsizetype>(0, text.toLower().indexOf("zq9") - 100), 300).constData());
    return good;
}

/// Returns names and contents of every file below a folder.
inline QByteArray everythingIn(const QString& folder) {
    QByteArray all;
    QDirIterator each(folder, QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot | QDir::Hidden,
                      QDirIterator::Subdirectories);
    while (each.hasNext()) {
        const QString path = each.next();
        all += path.toUtf8() + '\n';
        QFile file(path);
        if (each.fileInfo().isFile() && file.open(QIODevice::ReadOnly)) all += file.readAll() + '\n';
    }
    return all;
}

inline QByteArray textsOf(QWidget& widget) {
    QString all = widget.windowTitle() + QLatin1Char('\n') + widget.toolTip() + QLatin1Char('\n') +
                  widget.accessibleName() + QLatin1Char('\n');
    if (const auto* label = qobject_cast<QLabel*>(&widget)) all += label->text() + QLatin1Char('\n');
    if (const auto* tabs = qobject_cast<QTabBar*>(&widget))
        for (int i = 0; i < tabs->count(); ++i)
            all += tabs->tabText(i) + tabs->tabToolTip(i) + QLatin1Char('\n');
    if (const auto* view = qobject_cast<QAbstractItemView*>(&widget))
        for (int row = 0; view->model() != nullptr && row < view->model()->rowCount(); ++row)
            for (const int role : {int(Qt::DisplayRole), int(Qt::ToolTipRole), int(Qt::AccessibleTextRole)})
                all += view->model()->index(row, 0).data(role).toString() + QLatin1Char('\n');
    QByteArray text = all.toUtf8();
    for (QObject* child : widget.children())
        if (auto* inside = qobject_cast<QWidget*>(child)) text += textsOf(*inside);
    return text;
}

}  // namespace mpm::gui
