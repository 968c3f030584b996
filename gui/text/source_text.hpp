// Translates the reason why a source cannot be used into the language of the window.
#pragma once

#include <QCoreApplication>
#include <QString>

#include "pipeline/source/address.hpp"
#include "pipeline/source/source_error.hpp"

namespace mpm::gui {

/// The context of the translated texts. The struct is in a header, so that lupdate finds the struct.
struct SourceText {
    Q_DECLARE_TR_FUNCTIONS(mpm::gui::SourceText)
};

/// Returns "SOURCE: sentence"; empty if there is no problem.
QString sourceProblemText(const pipeline::SourceProblem& problem);

/// Removes the passwords of `address` from a message, because drivers and libraries quote addresses.
pipeline::SourceProblem safeProblem(const pipeline::Address& address, pipeline::SourceProblem problem,
                                    std::size_t limit);

/// Returns the name of a source as the window shows it, such as "Built-in street" for "demo".
QString shownTitle(const QString& title);

}  // namespace mpm::gui
