// For any bytes of a model file, conversion and inspection must end with a result, a Refusal or a
// BudgetError. Any other exception ends the program, which is a finding.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "models/onnx/convert.hpp"
#include "models/onnx/inspect.hpp"

namespace {

namespace fs = std::filesystem;
using namespace mpm;

/// A folder, in memory if possible, which is removed when the program ends.
class Folder {
public:
    Folder() {
        const bool memory = access("/dev/shm", W_OK) == 0;
        std::string pattern =
            ((memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "fuzz-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) std::abort();
        m_path = pattern;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(m_path, ignored);
    }
    std::string operator/(const char* name) const { return (m_path / name).string(); }

private:
    fs::path m_path;
};

void write(const std::string& path, const std::uint8_t* data, std::size_t size) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(data, 1, size, file) != size || std::fclose(file) != 0) std::abort();
}

/// Chooses form, labels and size by the size of the input, so that a run can be repeated.
models::ConvertOptions optionsFor(std::size_t size) {
    models::ConvertOptions options;
    options.maxMemory = std::int64_t{1} << 30;
    options.maxSeconds = 10;
    if (size % 4 == 1) options.form = models::Form::Layers;
    if (size % 4 == 2) options.labels = true;
    if (size % 4 == 3) options.size = {96, 64};
    return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder;
    const std::string input = folder / "in.onnx", output = folder / "out.onnx";
    write(input, data, size);
    try {
        models::convertModel(input, output, optionsFor(size));
    } catch (const models::Refusal&) {
    } catch (const BudgetError&) {
    }
    std::error_code ignored;
    fs::remove(output, ignored);
    try {
        models::inspectModel(data, size);
    } catch (const models::Refusal&) {
    } catch (const BudgetError&) {
    }
    return 0;
}
