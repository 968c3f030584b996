// Tensors as they are in a file of weights. Nothing in a file is ever executed; every size and offset is
// checked against the file before memory is allocated. Free of LibTorch.
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

/// How files name an element; null where a format does not have it, or its reader does not take it.
struct ElementNames {
    const char *safetensors, *numpy, *torch;
};
/// The element that a format names so; nothing if there is none.
std::optional<Element> elementNamed(const char* ElementNames::*format, const std::string& name);

/// Checked: every element that shape and stride reach is in `bytes`, and the product of all dimensions but 0
/// is far from the limits of 64 bits.
struct FileTensor {
    Element element = Element::F32;
    std::vector<std::int64_t> shape, stride;   ///< in elements
    std::string_view bytes;                    ///< from the first element on, little-endian, at any address
    std::shared_ptr<const std::string> owner;  ///< of the bytes, if they were unpacked

    std::int64_t count() const;
    /// All elements in row-major order: `out` has room for count() of them.
    void copyTo(float* out) const;         ///< floating-point elements
    void copyTo(std::int64_t* out) const;  ///< integers
};

using FileTensors = std::map<std::string, FileTensor>;

/// Elements of a shape; throws FileError on more than 8 dimensions, negative ones, or too many elements.
std::int64_t elementsOf(const std::vector<std::int64_t>& shape, const std::string& name);

/// A dense tensor in row-major order, or with `columnMajor` the first index running fastest; throws if the
/// data does not fit the shape.
FileTensor denseTensor(std::string_view data, Element element, const std::vector<std::int64_t>& shape,
                       const std::string& name, bool columnMajor = false);

/// The number of these bytes, at most eight, the lowest first.
std::uint64_t littleEndian(std::string_view bytes);

/// Memory that a file's tensors may take: with views of a shared storage or packed zeros, a small file could
/// fill any memory.
class Allowance {
public:
    explicit Allowance(std::string_view file) : m_left((std::uint64_t{64} << 20) + 8 * file.size()) {}
    std::uint64_t left() const { return m_left; }
    void spend(std::uint64_t bytes, const std::string& name);

private:
    std::uint64_t m_left;
};

/// The bytes must outlive the returned tensors.
FileTensors torchZipTensors(std::string_view bytes);     ///< of torch.save: the dictionary with most tensors
FileTensors safetensorsTensors(std::string_view bytes);  ///< as Hugging Face describes them
FileTensors npzTensors(std::string_view bytes);          ///< of numpy.savez

/// The texts of a safetensors file's __metadata__.
std::map<std::string, std::string> safetensorsTexts(std::string_view bytes);

}  // namespace mpm::models
