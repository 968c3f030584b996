// A temporary folder for settings and measurements, and images that serve as a source.
#pragma once

#include <QCoreApplication>
#include <QDir>
#include <QTemporaryDir>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "gui/patience.hpp"

namespace mpm::gui::test {

/// A temporary folder for the settings and measurements of a test.
class Sandbox {
public:
    Sandbox() {
        qputenv("XDG_CONFIG_HOME", m_folder.filePath(QStringLiteral("config")).toUtf8());
        qputenv("XDG_DATA_HOME", m_folder.filePath(QStringLiteral("data")).toUtf8());
    }
    QString path(const QString& name) const { return m_folder.filePath(name); }

    /// Writes a folder of images: first the bright images, then the dark.
    QString images(int bright, int dark) const {
        const QString folder = path(QStringLiteral("pictures"));
        QDir().mkpath(folder);
        for (int i = 0; i < bright + dark; ++i)
            cv::imwrite(QStringLiteral("%1/%2.png").arg(folder).arg(i, 3, 10, QLatin1Char('0')).toStdString(),
                        image(i, i < bright));
        return folder;
    }

    /// Writes the images as a film that plays in a loop. Frames come faster than from a folder (1 a second).
    QString film(int bright, int dark) const {
        const QString file = path(QStringLiteral("film-%1-%2.avi").arg(bright).arg(dark));
        cv::VideoWriter writer(file.toStdString(), cv::CAP_OPENCV_MJPEG,
                               cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), kFilmRate, {160, 120});
        for (int i = 0; i < bright + dark; ++i)
            writer.write(image(i % 4, i < bright));
        return file;
    }

private:
    static constexpr double kFilmRate = 8;

    static cv::Mat image(int i, bool bright) {
        const double light = bright ? 1.0 : 0.1;
        cv::Mat image(120, 160, CV_8UC3, cv::Scalar(200, 210, 190) * light);
        cv::rectangle(image, {10 + 4 * i, 30, 50, 60}, cv::Scalar(30, 60, 160) * light, cv::FILLED);
        cv::circle(image, {110, 60 + 2 * i}, 25, cv::Scalar(40, 140, 40) * light, cv::FILLED);
        return image;
    }

    QTemporaryDir m_folder;
};

}  // namespace mpm::gui::test
