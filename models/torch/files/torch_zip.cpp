#include "models/torch/files/pickle.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "models/torch/files/file_error.hpp"

namespace mpm::models {
namespace {

constexpr std::uint64_t kMaxPickle = std::uint64_t{32} << 20;  // bytes; the largest models need 1 MiB

/// Returns the highest storage index that the tensor reaches with its shape and strides.
std::int64_t lastOf(const Pickled& value, const std::string& name) {
    demand(value.shape.size() == value.stride.size() && value.offset >= 0, nameOf(name), ": damaged layout");
    std::int64_t last = value.offset;
    for (std::size_t i = 0; i < value.shape.size(); ++i) {
        demand(value.stride[i] >= 0, nameOf(name), ": damaged layout");
        const std::int64_t steps = std::max<std::int64_t>(0, value.shape[i] - 1);
        last = checkedSum<std::int64_t>(last, checkedProduct<std::int64_t>(steps, value.stride[i]));
    }
    return last;
}

const ZipMember& pickleOf(const std::vector<ZipMember>& members) {
    const std::string tail = "/data.pkl";
    for (const ZipMember& member : members) {
        const std::string& name = member.name;
        if (name.size() > tail.size() && name.compare(name.size() - tail.size(), tail.size(), tail) == 0)
            return member;
    }
    throw FileError("the archive lacks data.pkl: no file of torch.save");
}

/// Returns the dictionary with the most tensors: the root or an entry of the root ("model", "state_dict").
const Pickled& weightsIn(const Pickled& root) {
    const auto tensors = [](const Pickled& dictionary) {
        return std::count_if(dictionary.map.begin(), dictionary.map.end(), [](const auto& entry) {
            return entry.first->kind == Pickled::Kind::Text && entry.second->kind == Pickled::Kind::Tensor;
        });
    };
    const Pickled* best = &root;
    auto most = tensors(root);
    std::set<const Pickled*> seen{&root};  // counts a dictionary once, even if thousands of names refer to it
    for (const auto& entry : root.map) {
        if (!seen.insert(entry.second).second) continue;
        const auto count = tensors(*entry.second);
        if (count > most) best = entry.second;
        most = std::max(most, count);
    }
    demand(most > 0, "the file holds no tensors by name");
    return *best;
}

}  // namespace

TorchZip::TorchZip(std::string_view bytes) : m_members(listZip(bytes)), m_allowance(bytes) {
    const ZipMember& index = pickleOf(m_members);
    m_folder = index.name.substr(0, index.name.rfind('/'));
    m_text = unpack(index, kMaxPickle);
    m_pickle = readPickle(m_text);
    for (const auto& member : m_members)
        m_byName[member.name] = &member;
}

FileTensor TorchZip::tensor(const Pickled& value, const std::string& name) {
    const auto found = m_byName.find(m_folder + "/data/" + value.key);
    demand(found != m_byName.end(), "the archive lacks ", nameOf(m_folder), "/data/", nameOf(value.key));
    const ZipMember& member = *found->second;
    demand(!member.deflated, nameOf(member.name), " is packed, which torch.save never does");
    const auto element = elementNamed(&ElementNames::torch, value.text);
    demand(element.has_value(), "storage of unknown type '", nameOf(value.text), "'");
    FileTensor tensor{*element, value.shape, value.stride, {}, nullptr};
    const std::int64_t count = elementsOf(value.shape, name), last = lastOf(value, name);
    const std::size_t size = bytesOf(tensor.element);
    if (count == 0) return tensor;
    demand(static_cast<std::uint64_t>(last) < member.stored.size() / size, nameOf(name),
           " reaches past its storage");
    const auto first = static_cast<std::size_t>(value.offset);
    tensor.bytes = member.stored.substr(first * size, (static_cast<std::size_t>(last) - first + 1) * size);
    m_allowance.spend(checkedProduct<std::uint64_t>(count, isFloating(tensor.element) ? 4 : 8), name);
    return tensor;
}

FileTensors torchZipTensors(std::string_view bytes) {
    TorchZip archive(bytes);
    FileTensors tensors;
    for (const auto& [key, value] : weightsIn(archive.root()).map) {
        if (key->kind != Pickled::Kind::Text || value->kind != Pickled::Kind::Tensor) continue;
        tensors[key->text] = archive.tensor(*value, key->text);
    }
    return tensors;
}

}  // namespace mpm::models
