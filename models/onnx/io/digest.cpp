#include "models/onnx/io/digest.hpp"

#include <fstream>
#include <memory>
#include <vector>

#include <openssl/evp.h>

#include "models/onnx/ir/tensor.hpp"

namespace mpm::models {

std::string sha256OfFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Refusal("'" + path + "' cannot be opened for reading");
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
        throw Refusal("this OpenSSL has no SHA-256");
    std::vector<char> chunk(1 << 20);
    while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), file.gcount() > 0)
        EVP_DigestUpdate(context.get(), chunk.data(), static_cast<size_t>(file.gcount()));
    // The digest of a part would be that of another file.
    if (file.bad()) throw Refusal("'" + path + "' cannot be read to its end");
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(context.get(), digest, &size);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
        constexpr char kHex[] = "0123456789abcdef";
        text += {kHex[digest[i] >> 4], kHex[digest[i] & 15]};
    }
    return text;
}

}  // namespace mpm::models
