// Fuzzes stores: reads, writes and exports an untrusted file, and deletes old rows.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <streambuf>

#include "pipeline/store/store.hpp"

namespace {

namespace fs = std::filesystem;
using namespace mpm::pipeline;

/// A stream buffer that discards all output.
class Nowhere : public std::streambuf {
    int overflow(int c) override { return c; }
    std::streamsize xsputn(const char*, std::streamsize count) override { return count; }
};

void use(const std::string& path) {
    Store store(path);
    const Millis least(INT64_MIN), most(INT64_MAX);
    const std::int64_t source = store.source("s");
    for (const std::int64_t id : {std::int64_t{1}, source}) {
        store.measurements(id, least, most, 1000);
        store.buckets(id, Store::Span::Minute, least, most);
        store.events(id, least, most);
        store.extent(id);
        store.regionReadings(id, "door", least, most);
        for (const Quantity::Kind kind :
             {Quantity::Kind::ClassShare, Quantity::Kind::RegionTokens, Quantity::Kind::RegionShare,
              Quantity::Kind::ClassObjects, Quantity::Kind::RegionObjects})
            store.quantity(id, "vit", {kind, 0, "door"}, least, most);
        store.objects(id);
        Nowhere nowhere;
        std::ostream out(&nowhere);
        store.exportCsv(out, id, least, most);
        store.exportJson(out, id, least, most, {"sky"});
    }
    Measurement measurement;
    measurement.time = Millis(1'000);
    measurement.regions = {{"door", 4, 2, {0.5}}};
    store.add(source, {measurement});
    store.setObjects(source, {2, {{1, "car", {0, 0, 1, 1}, Millis(1), Millis(2), Millis(1)}}});
    store.addEvent(source, {Millis(1'000), "alert", "text"});
    store.apply({}, Millis(1'800'000'000'000));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // The store is in memory if possible, because on a disk, every write would wait.
    static const std::string folder = fs::is_directory("/dev/shm") ? "/dev/shm/mpm-fuzz-" : "store-";
    const std::string path = folder + std::to_string(getpid()) + ".sqlite";
    for (const char* beside : {"", "-wal", "-shm", "-journal"})
        fs::remove(path + beside);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    try {
        use(path);
    } catch (const StoreError&) {
        // As documented, the error is reported and the file stays unchanged.
    }
    for (const char* beside : {"", "-wal", "-shm", "-journal"})
        fs::remove(path + beside);
    return 0;
}
