// A controller of the model: loads a model, converts an export, and updates the panels.
#pragma once

#include "gui/services/model_converter.hpp"
#include "gui/services/model_inspector.hpp"
#include "gui/window/parts.hpp"

namespace mpm::gui {

class ModelControl : public QObject {
    Q_OBJECT
public:
    ModelControl(const Parts& parts, QWidget* window);

    /// Opens a model for the user. If the model can be loaded, the next start will use the model too.
    void open(const QString& model);
    /// Converts an export and opens the result.
    void convert(const QString& file);
    /// Opens the tuned copy of the model in use. Classes keep the user's names, and the schedule of the copy
    /// is used.
    void openTuned(const QString& made);
    /// Returns the folder for models that the window makes.
    QString folder() const;
    /// Returns null before the first model.
    const ModelFactsPtr& facts() const { return m_facts; }
    /// Describes the model in use, as `mpm info` does.
    void describe();
    void cancelConversion() { m_converter.cancel(); }
    /// If `safe`, uses class colours for colour-blind people.
    void setSafePalette(bool safe);
    bool loaded() const { return m_facts != nullptr; }
    /// Updates the hidden classes of this model in `names`; keeps the hidden classes of other models.
    void noteHiddenClasses(QStringList& names) const;

signals:
    void messagePosted(const QString& text, bool trouble = false);
    /// Emitted if the model or the schedule changes. Requests and styles must then be sent again.
    void changed();

private:
    void connectConverter();
    void onLoaded(const ModelFactsPtr& facts);
    void adoptSchedule(const ModelFacts& facts);
    void showModel(const ModelFacts& facts);
    void renameClass(int id, const QString& name);
    void renameInRules(const std::string& before, const std::string& own, const std::string& now);
    void noteRecent(const ModelFacts& facts);
    void onFailed(const QString& model, const QString& message, bool convertible);
    void offerConversion(const QString& model, const QString& problem);

    const Parts m_parts;
    QWidget* m_window;
    ModelFactsPtr m_facts;
    QString m_wanted;  // the model that the user opened and that is not loaded yet
    ModelConverter m_converter;
    ModelInspector m_inspector;
};

}  // namespace mpm::gui
