// The common part of torch.save's and LibTorch's archives: a pickle and the storages that it refers to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/torch/files/file_tensors.hpp"
#include "models/torch/files/pickle.hpp"
#include "models/torch/files/zip.hpp"

namespace mpm::models {

class TorchZip {
public:
    /// Throws FileError if the bytes are no such archive; they must outlive this.
    explicit TorchZip(std::string_view bytes);

    const Pickled& root() const { return *m_pickle.root; }

    /// The tensor of a value of the kind Tensor.
    FileTensor tensor(const Pickled& value, const std::string& name);

private:
    const std::vector<ZipMember> m_members;
    std::map<std::string, const ZipMember*> m_byName;
    std::string m_folder, m_text;
    Pickle m_pickle;
    Allowance m_allowance;
};

}  // namespace mpm::models
