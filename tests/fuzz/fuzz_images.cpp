// Fuzzes the reader of image files. A decoded image must not be larger than the limit for images.
#include <cstdint>
#include <cstdlib>

#include <opencv2/imgcodecs.hpp>

#include "pipeline/image/read.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mpm::pipeline;
    static_cast<void>(imageHeader({data, size}));
    setMaxImageBytes(16 << 20);  // small, so that more images are tried per second
    for (const int flags : {int(cv::IMREAD_COLOR), int(cv::IMREAD_UNCHANGED)}) {
        try {
            const cv::Mat image = decodeImage({data, size}, flags);
            if (static_cast<std::int64_t>(image.total() * image.elemSize()) > maxImageBytes()) std::abort();
        } catch (const ImageError&) {
        }
    }
    return 0;
}
