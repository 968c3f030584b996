// Playlists of HLS: which addresses they name, and whether these are on the same host.
#include <gtest/gtest.h>

#include <map>

#include "pipeline/source/video_file.hpp"

namespace mpm::pipeline {
namespace {

TEST(Playlist, IsNamedByItsAddress) {
    for (const char* address :
         {"http://cam/live.m3u8", "https://u:p@cam:8443/a/LIVE.M3U8?token=1", "http://cam/?f=x.m3u"})
        EXPECT_TRUE(namesPlaylist(address)) << address;
    for (const char* address :
         {"http://cam/live.mjpg", "rtsp://cam/live.m3u8", "file:///tmp/live.m3u8", "live.m3u8"})
        EXPECT_FALSE(namesPlaylist(address)) << address;
}

TEST(Playlist, NamesSegmentsKeysAndPlaylists) {
    const PlaylistParts parts = partsOfPlaylist(
        "#EXTM3U\r\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"audio.m3u8\"\r\n#EXT-X-STREAM-INF:BANDWIDTH=1\r\nlow\r\n"
        "#EXT-X-KEY:METHOD=AES-128,URI=\"k?a=1,2\",IV=0x1\r\n#EXT-X-MAP:URI=init.mp4,BYTERANGE=1\r\n#EXTINF:"
        "1,\r\n"
        "one.ts  \r\n\r\ntwo.ts");
    EXPECT_EQ(parts.playlists, (std::vector<std::string>{"audio.m3u8", "low"}));
    EXPECT_EQ(parts.others, (std::vector<std::string>{"k?a=1,2", "init.mp4", "one.ts", "two.ts"}));
}

TEST(Playlist, PartsAreOnItsHostOrRejected) {
    const std::string base = "https://user:pass@Cam:8443/live/x.m3u8?t=a/b";
    const std::map<std::string, std::string> same = {
        {"a.ts", "https://user:pass@Cam:8443/live/a.ts"},
        {"/a.ts", "https://user:pass@Cam:8443/a.ts"},
        {"sub/a.ts?x=http://other/", "https://user:pass@Cam:8443/live/sub/a.ts?x=http://other/"},
        {"https://cam/a.ts", "https://cam/a.ts"},
        {"http://cam:80/a.ts", "http://cam:80/a.ts"},
        {"//cam/a.ts", "https://cam/a.ts"}};
    for (const auto& [part, address] : same)
        EXPECT_EQ(addressOnSameHost(base, part), address);
    for (const char* part :
         {"http://other/a.ts", "//other/a.ts", "https://cam@other/a.ts", "https://cam.other/a.ts",
          "file:///etc/passwd", "file:a", "concat:a|b", "subfile,,start,0,end,0,,:x", "data:,x",
          "tcp://cam:25", "https://other\\@cam/a.ts", "https:///a.ts"})
        EXPECT_EQ(addressOnSameHost(base, part), "") << part;
    EXPECT_EQ(addressOnSameHost("http://[::1]:80/x.m3u8", "http://[::1]/a.ts"), "http://[::1]/a.ts");
    EXPECT_EQ(addressOnSameHost("http://cam", "a.ts"), "http://cam/a.ts");
    EXPECT_EQ(addressOnSameHost("file:///a.m3u8", "a.ts"), "");
}

TEST(Playlist, IsFollowedThroughItsPlaylists) {
    std::map<std::string, std::string> web = {
        {"http://cam/x.m3u8",
         "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2\nx.m3u8\n"},
        {"http://cam/low.m3u8", "#EXTM3U\n#EXTINF:1,\na.ts\n"}};
    std::string moved;
    const Fetch fetch = [&](const std::string& address, std::string& finally) {
        if (!moved.empty()) finally = moved;
        return web[address];
    };
    EXPECT_TRUE(staysOnItsHost("http://cam/x.m3u8", fetch));
    web["http://cam/low.m3u8"] += "#EXTINF:1,\nhttp://other/a.ts\n";
    EXPECT_FALSE(staysOnItsHost("http://cam/x.m3u8", fetch));
    web["http://cam/low.m3u8"] = std::string(1 << 20, '#');
    EXPECT_FALSE(staysOnItsHost("http://cam/x.m3u8", fetch)) << "longer than what is read";
    web["http://cam/low.m3u8"].clear();
    EXPECT_TRUE(staysOnItsHost("http://cam/x.m3u8", fetch));
    moved = "http://other/x.m3u8";
    EXPECT_FALSE(staysOnItsHost("http://cam/x.m3u8", fetch)) << "the server sent us elsewhere";
    moved.clear();
    for (int i = 0; i < 40; ++i)
        web["http://cam/" + std::to_string(i)] = "#EXT-X-STREAM-INF:\n" + std::to_string(i + 1) + "\n";
    EXPECT_FALSE(staysOnItsHost("http://cam/0", fetch)) << "without end";
}

}  // namespace
}  // namespace mpm::pipeline
