// Tensors in files of weights, without LibTorch. The readers execute no code from a file, and compare every
// size and offset with the file before they allocate memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpm::models {

enum class Element { F32, F64, F16, BF16, I64, I32, I16, I8, U8, Bool };

std::size_t bytesOf(Element element);
bool isFloating(Element element);

/// The names of an element type in each format; null if the format or its reader in this project does not
/// support the type.
struct ElementNames {
    const char *safetensors, *numpy, *torch;
};
/// Returns the element type with this name in a format; std::nullopt if the format has no such name.
std::optional<Element> elementNamed(const char* ElementNames::*format, const std::string& name);

/// A checked tensor: `bytes` contains every element that shape and stride address, and the product of all
/// nonzero dimensions fits in 64 bits.
struct FileTensor {
    Element element = Element::F32;
    std::vector<std::int64_t> shape, stride;  ///< in elements
    std::string_view bytes;                   ///< from the first element on, little-endian, perhaps unaligned
    std::shared_ptr<const std::string> owner;  ///< owner of `bytes` if the reader unpacked them; else null

    std::int64_t count() const;
    /// Copies all elements in row-major order; `out` must have room for count() elements.
    void copyTo(float* out) const;         ///< for floating-point tensors
    void copyTo(std::int64_t* out) const;  ///< for tensors of integers
};

using FileTensors = std::map<std::string, FileTensor>;

/// Returns the number of elements of a shape; throws FileError for more than 8 dimensions, a negative
/// dimension, or too many elements.
std::int64_t elementsOf(const std::vector<std::int64_t>& shape, const std::string& name);

/// Returns a dense tensor in row-major order, or in column-major order if `columnMajor`; throws if the data
/// does not fit the shape.
FileTensor denseTensor(std::string_view data, Element element, const std::vector<std::int64_t>& shape,
                       const std::string& name, bool columnMajor = false);

/// Returns the number that is stored in `bytes` (at most eight), lowest byte first.
std::uint64_t littleEndian(std::string_view bytes);

/// A limit for the memory of a file's tensors. Without a limit, a small file could fill all memory with
/// packed zeros, or with many views of the same storage, which the reader copies.
class Allowance {
public:
    explicit Allowance(std::string_view file) : m_left((std::uint64_t{64} << 20) + 8 * file.size()) {}
    std::uint64_t left() const { return m_left; }
    void spend(std::uint64_t bytes, const std::string& name);

private:
    std::uint64_t m_left;
};

/// The bytes must outlive the returned tensors.
FileTensors torchZipTensors(std::string_view bytes);     ///< torch.save: the dictionary with the most tensors
FileTensors safetensorsTensors(std::string_view bytes);  ///< Hugging Face's format
FileTensors npzTensors(std::string_view bytes);          ///< numpy.savez

/// Returns the texts in the __metadata__ of a safetensors file.
std::map<std::string, std::string> safetensorsTexts(std::string_view bytes);

}  // namespace mpm::models
