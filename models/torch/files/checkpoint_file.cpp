#include "models/torch/files/checkpoint_file.hpp"

#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "models/torch/files/file_error.hpp"
#include "models/torch/files/pickle.hpp"

namespace mpm::models {
namespace {

using Json = nlohmann::json;
using Kind = Pickled::Kind;

constexpr const char *kFormat = "mpm-models 2", *kArchiveFormat = "mpm-models 1";
constexpr int kMaxDepth = 32;
constexpr const char *kNoCheckpoint = "not a checkpoint of mpm-models",
                     *kDamaged = "the checkpoint's progress is damaged";

/// Reads a LibTorch archive, in which each value has a path such as "mean.encoder.norm.weight".
class ArchiveReader {
public:
    explicit ArchiveReader(std::string_view bytes) : m_archive(bytes) { visit(m_archive.root(), "", 0); }
    CheckpointFile read();

private:
    using Entry = const Pickled*;
    void visit(const Pickled& object, const std::string& path, int depth);
    const Pickled& at(const std::string& path, Kind kind) const;
    double real(const std::string& path) const;
    void adam(CheckpointFile& file);
    FileTensor tensor(const std::string& path) { return m_archive.tensor(at(path, Kind::Tensor), path); }

    TorchZip m_archive;
    std::map<std::string, Entry> m_entries;
    std::set<Entry> m_seen;
};

/// Lists the values below an object. Throws if an object has two paths, because objects that refer to each
/// other have endless paths.
void ArchiveReader::visit(const Pickled& object, const std::string& path, int depth) {
    demand(depth < kMaxDepth && m_seen.insert(&object).second, kNoCheckpoint, ": its objects form no tree");
    for (const auto& [key, value] : object.map) {
        demand(key->kind == Kind::Text && key->text.size() < 200, kNoCheckpoint);
        const std::string here = path.empty() ? key->text : path + "." + key->text;
        if (value->kind == Kind::Opaque)
            visit(*value, here, depth + 1);
        else
            m_entries[here] = value;
    }
}

const Pickled& ArchiveReader::at(const std::string& path, Kind kind) const {
    const auto found = m_entries.find(path);
    demand(found != m_entries.end() && found->second->kind == kind, "the checkpoint lacks ", nameOf(path));
    return *found->second;
}

double ArchiveReader::real(const std::string& path) const {
    const auto found = m_entries.find(path);
    if (found != m_entries.end() && found->second->kind == Kind::Int)
        return static_cast<double>(found->second->number);
    return at(path, Kind::Float).real;
}

FileTensor integerTensor(std::int64_t number) {
    const auto bytes =
        std::make_shared<const std::string>(reinterpret_cast<const char*>(&number), sizeof number);
    FileTensor tensor = denseTensor(*bytes, Element::I64, {}, "step");
    tensor.owner = bytes;
    return tensor;
}

/// Reads AdamW's state. LibTorch stores the state of each weight under the address that the weight had in
/// memory, and lists these addresses by parameter group.
void ArchiveReader::adam(CheckpointFile& file) {
    int index = 0;
    const auto groupPath = [](int group) {
        return "optimiser.adam.param_groups.param_groups/" + std::to_string(group) + ".params/";
    };
    for (int group = 0;
         m_entries.count(groupPath(group) + "0") != 0 || m_entries.count(groupPath(group) + "size") != 0;
         ++group) {
        for (int i = 0; m_entries.count(groupPath(group) + std::to_string(i)) != 0; ++i, ++index) {
            const std::string& key = at(groupPath(group) + std::to_string(i), Kind::Text).text;
            const std::string from = "optimiser.adam.state." + key,
                              to = "optimiser.adam." + std::to_string(index);
            if (m_entries.count(from + ".step") == 0) continue;
            file.tensors[to + ".step"] = integerTensor(at(from + ".step", Kind::Int).number);
            for (const char* part : {".exp_avg", ".exp_avg_sq"})
                file.tensors[to + part] = tensor(from + part);
        }
    }
}

CheckpointFile ArchiveReader::read() {
    demand(m_entries.count("format") != 0 && at("format", Kind::Text).text == kArchiveFormat, kNoCheckpoint);
    CheckpointFile file;
    file.options = at("options", Kind::Text).text;
    const std::string state = "optimiser.adam.";
    for (const auto& [path, value] : m_entries) {
        if (value->kind == Kind::Tensor && path.compare(0, state.size(), state) != 0)
            file.tensors[path] = tensor(path);
    }
    file.hasProgress = m_entries.count("step") != 0;
    if (!file.hasProgress) return file;
    adam(file);
    file.progress = {at("step", Kind::Int).number, at("images", Kind::Int).number, real("best"),
                     real("seconds")};
    return file;
}

const std::string& textAt(const std::map<std::string, std::string>& texts, const char* name) {
    const auto found = texts.find(name);
    demand(found != texts.end(), kNoCheckpoint);
    return found->second;
}

Progress progressFrom(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    try {
        demand(json.at("step").is_number_integer() && json.at("images").is_number_integer(), kDamaged);
        return {json.at("step").get<std::int64_t>(), json.at("images").get<std::int64_t>(),
                json.at("best").get<double>(), json.at("seconds").get<double>()};
    } catch (const Json::exception&) {
        throw FileError(kDamaged);
    }
}

CheckpointFile readParts(std::string_view bytes) {
    const auto texts = safetensorsTexts(bytes);
    const std::string& format = textAt(texts, "format");
    demand(format == kFormat, "a checkpoint of the unknown format ", nameOf(format),
           "; a newer mpm-models may read it");
    CheckpointFile file;
    file.options = textAt(texts, "options");
    file.tensors = safetensorsTensors(bytes);
    file.hasProgress = texts.count("progress") != 0;
    if (file.hasProgress) file.progress = progressFrom(textAt(texts, "progress"));
    return file;
}

const char* nameOfElement(Element element) {
    demand(element == Element::F32 || element == Element::I64, "checkpoints hold f32 and i64");
    return element == Element::F32 ? "F32" : "I64";
}

}  // namespace

CheckpointFile parseCheckpoint(std::string_view bytes) {
    // Compares four bytes, because a safetensors file begins with a length, whose first bytes could be "PK".
    CheckpointFile file = bytes.substr(0, 4) == "PK\x03\x04" ? ArchiveReader(bytes).read() : readParts(bytes);
    Progress& progress = file.progress;
    if (!std::isfinite(progress.best)) progress.best = -1;  // NaN if no validation image has a label
    demand(progress.step >= 0 && progress.images >= 0 && std::isfinite(progress.seconds) &&
               progress.seconds >= 0,
           kDamaged);
    return file;
}

void writeCheckpoint(PendingFile& file, const std::string& options, const Progress* progress,
                     const std::vector<DenseTensor>& tensors) {
    Json texts{{"format", kFormat}, {"options", options}};
    if (progress != nullptr)
        texts["progress"] = Json{
            {"step", progress->step},
            {"images", progress->images},
            {"best", std::isfinite(progress->best) ? progress->best : -1},
            {"seconds",
             progress->seconds}}.dump();
    Json header{{"__metadata__", texts}};
    std::uint64_t at = 0;
    for (const DenseTensor& tensor : tensors) {
        const std::uint64_t end = at + tensor.bytes.size();
        header[tensor.name] = {
            {"dtype", nameOfElement(tensor.element)}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
        at = end;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');  // aligns the data to 8 bytes
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i)
        length[i] = static_cast<char>(text.size() >> (8 * i));
    file.write(length + text);
    for (const DenseTensor& tensor : tensors)
        file.write(tensor.bytes);
}

}  // namespace mpm::models
