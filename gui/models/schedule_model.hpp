// The encoder's blocks as rows: a check mark if tokens merge before the block, and the number of tokens that
// enter the block.
#pragma once

#include <vector>

#include <QAbstractListModel>

namespace mpm::gui {

class ScheduleModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { TokensRole = Qt::UserRole, TokensInRole };

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(m_merges.size());
    }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    /// Sets the number of blocks. Drops the check marks of blocks that no longer exist.
    void setBlocks(int blocks);
    /// Drops blocks that the model does not have.
    void setSchedule(const std::vector<int>& schedule);
    /// Sets the number of image tokens that enter each block.
    void setTokens(const std::vector<int>& tokens);

    std::vector<int> schedule() const;
    int tokensIn() const { return m_tokens.empty() ? 0 : m_tokens.front(); }
    int tokensBefore(int block) const;  ///< number of tokens that enter the block; 0 if nothing ran yet

signals:
    void scheduleChanged(const std::vector<int>& schedule);

private:
    std::vector<bool> m_merges;
    std::vector<int> m_tokens;
};

}  // namespace mpm::gui
