#include "pipeline/image/header.hpp"

#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "base/checked.hpp"

namespace mpm::pipeline {

namespace {

constexpr unsigned char kMark = 0xff, kEndMark = 0xd9, kScanMark = 0xda;

/// Returns whether a marker has no length field. Examples: a restart, and the zero after 0xff in a scan.
bool standsAlone(unsigned char kind) {
    return kind == 0 || kind == 1 || kind == kMark || (kind >= 0xd0 && kind <= 0xd8);
}

bool isFrame(unsigned char kind) {
    return kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc;
}

/// A libjpeg decoder of bytes in memory. Prints no messages, and adds an end marker. Errors call
/// longjmp(), so no member may have a destructor.
struct Decoder {
    jpeg_decompress_struct jpeg{};
    jpeg_error_mgr errors{};
    jpeg_source_mgr source{};
    std::jmp_buf failed{};
    bool lacks = false;  ///< whether bits of the image are missing

    j_common_ptr error() { return reinterpret_cast<j_common_ptr>(&jpeg); }
};

constexpr JOCTET kEnd[] = {kMark, kEndMark};

void stop(j_common_ptr jpeg) {
    std::longjmp(static_cast<Decoder*>(jpeg->client_data)->failed, 1);
}
void note(j_common_ptr jpeg, int level) {
    if (level < 0 && jpeg->err->msg_code == JWRN_HIT_MARKER)
        static_cast<Decoder*>(jpeg->client_data)->lacks = true;
}
void sayNothing(j_common_ptr) {}
void begin(j_decompress_ptr) {}
boolean giveEnd(j_decompress_ptr jpeg) {
    jpeg->src->next_input_byte = kEnd;
    jpeg->src->bytes_in_buffer = sizeof kEnd;
    return TRUE;
}
void skip(j_decompress_ptr jpeg, long count) {
    const auto wanted = static_cast<std::size_t>(count > 0 ? count : 0);
    const std::size_t step = wanted < jpeg->src->bytes_in_buffer ? wanted : jpeg->src->bytes_in_buffer;
    jpeg->src->next_input_byte += step;
    jpeg->src->bytes_in_buffer -= step;
}

/// Returns whether blocks are missing. Decodes all blocks at an eighth of the size, to save time.
bool lacksBits(Decoder& decoder, const FileBytes& file, std::vector<JSAMPLE>& row) {
    jpeg_decompress_struct& jpeg = decoder.jpeg;
    jpeg.err = jpeg_std_error(&decoder.errors);
    jpeg.client_data = &decoder;
    decoder.errors.error_exit = stop;
    decoder.errors.emit_message = note;
    decoder.errors.output_message = sayNothing;
    if (setjmp(decoder.failed) != 0) {
        jpeg_destroy_decompress(&jpeg);
        return true;
    }
    jpeg_create_decompress(&jpeg);
    decoder.source = {file.data, file.size, begin, giveEnd, skip, jpeg_resync_to_restart, begin};
    jpeg.src = &decoder.source;
    jpeg_read_header(&jpeg, TRUE);
    jpeg.scale_num = 1;
    jpeg.scale_denom = 8;
    jpeg.out_color_space = jpeg.jpeg_color_space;
    jpeg.do_fancy_upsampling = FALSE;
    jpeg_start_decompress(&jpeg);
    if (row.size() / 4 < jpeg.output_width || jpeg.output_components > 4) stop(decoder.error());
    JSAMPROW rows[] = {row.data()};
    while (jpeg.output_scanline < jpeg.output_height)
        jpeg_read_scanlines(&jpeg, rows, 1);
    jpeg_destroy_decompress(&jpeg);
    return decoder.lacks;
}

}  // namespace

std::optional<JpegSegments> jpegSegments(const FileBytes& file) {
    JpegSegments found;
    bool framed = false;
    std::size_t at = 2;
    while (at + 1 < file.size) {
        const unsigned char kind = file.at(at + 1);
        if (file.at(at) != kMark || standsAlone(kind)) {
            at += file.at(at) == kMark && kind != kMark ? 2 : 1;
            continue;
        }
        found.ends = kind == kEndMark;
        if (found.ends || at + 3 >= file.size) break;
        if (kind == kScanMark) ++found.scans;
        if (isFrame(kind) && !framed) {
            framed = true;
            const int channels = file.at(at + 9);
            // Progressive images need more memory: libjpeg keeps all coefficients until the last scan.
            const bool kept = kind != 0xc0 && kind != 0xc1 && kind != 0xc3;
            found.arithmetic = kind >= 0xc9;
            found.header = {ImageFormat::Jpeg, file.big(at + 7, 2), file.big(at + 5, 2), channels, 1,
                            kept ? 2 : 0};
        }
        at += 2 + file.big(at + 2, 2);
    }
    if (found.scans > 1) found.header.extraDepth = 2;
    return framed ? std::optional<JpegSegments>(found) : std::nullopt;
}

bool isCutOffJpeg(const FileBytes& file, const JpegSegments& segments) {
    // Without arithmetic coding, every block of 8x8 pixels takes at least a bit. If the file has fewer bits
    // than blocks, a part is missing.
    const auto blocks =
        checkedProduct<std::int64_t>((segments.header.width + 7) / 8, (segments.header.height + 7) / 8);
    if (!segments.arithmetic && blocks > 8 * static_cast<std::int64_t>(file.size)) return true;
    if (segments.ends) return false;
    Decoder decoder;
    std::vector<JSAMPLE> row(4 * (static_cast<std::size_t>(segments.header.width) / 8 + 8));
    return lacksBits(decoder, file, row);
}

}  // namespace mpm::pipeline
