#include "gui/engine/truth.hpp"

#include <filesystem>

namespace fs = std::filesystem;

namespace mpm::gui {

std::unique_ptr<TruthFolder> TruthFolder::beside(const std::string& images) {
    fs::path folder = fs::path(images).lexically_normal();
    if (folder.filename().empty()) folder = folder.parent_path();  // the path ended in a slash
    std::error_code error;
    if (folder.filename() != "images" || !fs::is_directory(folder, error)) return nullptr;
    const fs::path split = fs::absolute(folder, error).parent_path();
    if (!fs::is_directory(split / "labels", error)) return nullptr;
    try {
        return std::unique_ptr<TruthFolder>(new TruthFolder(
            pipeline::FolderDataset::withClassFile(split.parent_path().string(), split.filename().string())));
    } catch (const std::exception&) {
        return nullptr;  // the folder is then a source without labels
    }
}

TruthFolder::TruthFolder(pipeline::FolderDataset set) : m_set(std::move(set)) {
    for (std::size_t i = 0; i < m_set.size(); ++i)
        m_indices[m_set.name(i)] = i;
}

Truth TruthFolder::of(const std::string& stem) const {
    const auto found = m_indices.find(stem);
    if (found == m_indices.end()) return {};
    try {
        return {m_set.labelsAt(found->second), m_set.classes().count(), m_set.classes().ignored};
    } catch (const std::exception&) {
        return {};
    }
}

}  // namespace mpm::gui
