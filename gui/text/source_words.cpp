#include "gui/text/source_words.hpp"

#include <QCoreApplication>
#include <QRegularExpression>

namespace mpm::gui {

namespace {

constexpr const char* kContext = "mpm::gui::SourceWords";
constexpr const char* kSentences[] = {
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords",
                      "no such camera, or it is in use; list them with 'ls /dev/video*'"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords",
                      "GStreamer refused the pipeline; try it with gst-launch-1.0, it must end in appsink"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords",
                      "cannot connect; check address, port, user and password, and that the stream runs"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords",
                      "not a video that can be read (damaged, or of an unknown format)"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords", "damaged after frame %1 of %2"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords", "the stream broke off after %1 frames"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords", "the stream ended"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords", "frames are not 8-bit pictures; convert them to BGR"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords",
                      "no picture there; name an image, a folder with images, or a glob as 'in/*.jpg'"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords",
                      "not a picture that can be read (missing, damaged or unknown)"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords", "none of its pictures can be read"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords", "there is nothing in it"),
    QT_TRANSLATE_NOOP("mpm::gui::SourceWords",
                      "no such source; name a camera index, a video, an image, a folder or glob of images, a "
                      "URL, gst: and a pipeline, env:NAME, secret:NAME, or demo"),
};

QRegularExpression patternOf(const char* sentence) {
    QString text = QRegularExpression::escape(QLatin1String(sentence));
    for (const char* place : {"\\%1", "\\%2"})
        text.replace(QLatin1String(place), QStringLiteral("(-?\\d+)"));
    return QRegularExpression(QStringLiteral("^(.*: )?") + text + QLatin1Char('$'),
                              QRegularExpression::DotMatchesEverythingOption);
}

}  // namespace

QString sourceWords(const QString& message) {
    for (const char* sentence : kSentences) {
        const QRegularExpressionMatch found = patternOf(sentence).match(message);
        if (!found.hasMatch()) continue;
        QString words = QCoreApplication::translate(kContext, sentence);
        for (int i = 2; i <= found.lastCapturedIndex(); ++i)
            words = words.arg(found.captured(i));
        return found.captured(1) + words;
    }
    return message;
}

}  // namespace mpm::gui
