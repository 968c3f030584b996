// Why a source cannot be used, in the language of the window.
#pragma once

#include <QCoreApplication>
#include <QString>

#include "pipeline/source/address.hpp"
#include "pipeline/source/source_error.hpp"

namespace mpm::gui {

/// The context of the translations, in a header because lupdate finds no other.
struct SourceText {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::SourceText)
};

/// "SOURCE: sentence"; empty if there is no problem.
QString sourceProblemText(const pipeline::SourceProblem& problem);

/// Removes the secrets of the address, which drivers and libraries quote in their messages.
pipeline::SourceProblem safeProblem(const pipeline::Address& address, pipeline::SourceProblem problem,
                                    std::size_t limit);

/// The name of a source as the window shows it: the built-in street has no address.
QString shownTitle(const QString& title);

}  // namespace mpm::gui
