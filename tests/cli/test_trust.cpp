// `mpm` with hostile sources and files.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "cli/process.hpp"
#include "cli/small_model.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;

namespace mpm::test {
namespace {

std::string textOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A server that sends `head` to every client. If `endless`, it then sends the same bytes again and again,
/// otherwise nothing more.
class HostileServer {
public:
    HostileServer(std::string head, bool endless) : m_head(std::move(head)), m_endless(endless) {
        m_listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(bind(m_listener, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(listen(m_listener, 8), 0);
        getsockname(m_listener, reinterpret_cast<sockaddr*>(&address), &size);
        m_port = ntohs(address.sin_port);
        m_thread = std::thread([this] { serve(); });
    }
    ~HostileServer() {
        m_running = false;
        m_thread.join();
        close(m_listener);
    }
    HostileServer(const HostileServer&) = delete;
    HostileServer& operator=(const HostileServer&) = delete;

    int contacts() const { return m_contacts; }
    bool awaitsContact() const {
        for (int i = 0; i < 2000 && m_contacts == 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return m_contacts > 0;
    }
    std::string url() const {
        return "http://127.0.0.1:" + std::to_string(m_port) + "/s.mjpg?token=Zq9secret";
    }

private:
    void serve() {
        std::vector<std::thread> clients;
        while (m_running) {
            pollfd waiting{m_listener, POLLIN, 0};
            if (poll(&waiting, 1, 20) <= 0) continue;
            const int client = accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
            if (client >= 0) ++m_contacts;
            if (client >= 0) clients.emplace_back([this, client] { feed(client); });
        }
        for (std::thread& client : clients)
            client.join();
    }
    void feed(int client) const {
        const std::string more(65'536, '\x5a');
        bool good = m_head.empty() || send(client, m_head.data(), m_head.size(), MSG_NOSIGNAL) > 0;
        while (m_running && good) {
            pollfd ready{client, static_cast<short>(m_endless ? POLLOUT : POLLIN), 0};
            if (poll(&ready, 1, 20) <= 0) continue;
            char sink[4096];
            if (!m_endless)
                good = recv(client, sink, sizeof sink, 0) > 0;
            else
                good = send(client, more.data(), more.size(), MSG_NOSIGNAL) > 0 || errno == EAGAIN;
        }
        close(client);
    }

    const std::string m_head;
    const bool m_endless;
    int m_listener = -1, m_port = 0;
    std::atomic<bool> m_running{true};
    std::atomic<int> m_contacts{0};
    std::thread m_thread;
};

class Trust : public ::testing::Test {
protected:
    void SetUp() override {
        writeSmallModel(m_folder / "model.onnx");
        fs::create_directory(m_folder / "in");
    }

    void image(const std::string& name) const {
        cv::imwrite(m_folder / "plain.png", testImage(1));
        fs::copy_file(m_folder / "plain.png", m_folder / ("in/" + name));
    }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(m_folder / name, std::ios::binary) << text;
        return m_folder / name;
    }
    Outcome run(std::vector<std::string> words) const {
        words.insert(words.begin(), {"run", m_folder / "model.onnx"});
        return mpmProgram(words);
    }

    TempFolder m_folder;
};

TEST_F(Trust, SaysNoSecretOfASource) {
    const std::vector<std::string> sources = {
        "rtsp://Zq9user:Zq9secret@127.0.0.1:9/live",
        "rtsp://Zq9TOKEN@127.0.0.1:9/live",
        "http://127.0.0.1:9/v?access_token=Zq9secret",
        "http://127.0.0.1:9/v?X-Amz-Signature=Zq9secret",
        "rtsp://127.0.0.1:9/user=Zq9user_password=Zq9secret_channel=1",
        "rtsp://Zq9user:Zq9/se?cret@127.0.0.1:9/live",
        "gst:souphttpsrc location=http://127.0.0.1:9/v?sig=Zq9sig proxy-pw=\"Zq9 ! secret\" ! fakesink",
    };
    std::string list = "# cameras\n\n";
    for (const std::string& source : sources)
        list += "  " + source + "\r\n";
    const std::string file = write("sources", list);
    std::vector<std::string> named = {"run", m_folder / "model.onnx", "--source-from", file, "--duration",
                                      "1"};
    const Outcome all = mpmProgram(named);
    EXPECT_EQ(all.status, 3) << all.err;
    EXPECT_EQ((all.out + all.err).find("Zq9"), std::string::npos) << all.err;
    EXPECT_TRUE(all.says("127.0.0.1:9")) << all.err;
    EXPECT_GE(all.lines(), 7) << all.err;
    // Messages about wrong usage quote the invalid text, but must hide secrets in it.
    for (const std::vector<std::string>& words : {std::vector<std::string>{"info", "a.onnx", sources[0]},
                                                  {"bench", "a.onnx", "--json=x", "--" + sources[2]}}) {
        const Outcome wrong = mpmProgram(words);
        EXPECT_NE(wrong.status, 0);
        EXPECT_EQ(wrong.err.find("Zq9"), std::string::npos) << wrong.err;
    }
}

TEST_F(Trust, TakesSourcesFromElsewhere) {
    image("a.png");
    setenv("MPM_TEST_SOURCE", (m_folder / "in").c_str(), 1);
    const std::string file = write("list", "env:MPM_TEST_SOURCE\n# no more");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"env:MPM_TEST_SOURCE"}, {"--source-from", file}}) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_NE(outcome.out.find("\na,"), std::string::npos) << outcome.out;
    }
    const Outcome bench =
        mpmProgram({"bench", m_folder / "model.onnx", "--source-from", file, "--rounds", "1"});
    EXPECT_EQ(bench.status, 0) << bench.err;
    setenv("MPM_TEST_SOURCE", "rtsp://Zq9user:Zq9secret@127.0.0.1:9/live", 1);
    const Outcome offline = run({"env:MPM_TEST_SOURCE", "--duration", "1"});
    unsetenv("MPM_TEST_SOURCE");
    EXPECT_EQ(offline.status, 3) << offline.err;
    EXPECT_TRUE(offline.says("env:MPM_TEST_SOURCE")) << offline.err;
    EXPECT_EQ(offline.err.find("Zq9"), std::string::npos) << offline.err;
    EXPECT_EQ(offline.err.find("127.0.0.1"), std::string::npos) << offline.err;
    EXPECT_EQ(run({"env:MPM_TEST_SOURCE"}).status, 3);
    EXPECT_EQ(run({"--source-from", m_folder / "missing"}).status, 3);
    EXPECT_EQ(run({"--source-from", write("empty", "# nothing\n")}).status, 3);
    EXPECT_EQ(run({}).status, 2);
}

TEST_F(Trust, NamesTheBudgetThatWasExceeded) {
    image("a.png");
    const Outcome small = run({m_folder / "in/a.png", "--max-memory", "30000"});
    EXPECT_EQ(small.status, 3) << small.err;
    EXPECT_TRUE(small.says("--max-memory 30000")) << small.err;
    EXPECT_EQ(small.lines(), 1) << small.err;
    EXPECT_EQ(run({m_folder / "in/a.png", "--max-memory", "1G"}).status, 0);
    EXPECT_EQ(run({m_folder / "in/a.png", "--max-memory", "-1"}).status, 2);
    EXPECT_EQ(run({m_folder / "in/a.png", "--max-memory", "9999999999G"}).status, 2);
    // A file of 218 bytes would need gigabytes to decode.
    std::vector<uchar> bytes;
    cv::imencode(".jpg", cv::Mat(8, 8, CV_8UC1, cv::Scalar(9)), bytes);
    for (size_t i = 2; i + 9 < bytes.size(); ++i)
        if (bytes[i] == 0xff && bytes[i + 1] == 0xc0) bytes[i + 5] = bytes[i + 7] = 0xff;
    const Outcome huge = run({write("huge.jpg", {bytes.begin(), bytes.end()})});
    EXPECT_EQ(huge.status, 3) << huge.err;
    EXPECT_TRUE(huge.says("--max-memory 2147483648")) << huge.err;
}

TEST_F(Trust, PrintsNoControlCharacters) {
    const std::string name = "a\x1b]0;owned\x07\n\x1b[2Jmpm: done.png";
    write("in/" + name, "no image");
    image("good.png");
    const Outcome outcome = run({m_folder / "in"});
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_EQ((outcome.err + outcome.out).find('\x1b'), std::string::npos);
    EXPECT_EQ(outcome.lines(), 2) << outcome.err;
    EXPECT_TRUE(outcome.says("\\x1b]0;owned\\x07")) << outcome.err;
    const Outcome longest = mpmProgram({"run", std::string(100'000, 'm'), "demo"});
    EXPECT_LT(longest.err.size(), 2000U);
}

TEST_F(Trust, WritesTablesOfAnyFileName) {
    const std::string latin = "caf\xe9", formula = "=cmd|calc", broken = "two\nlines",
                      quoted = "say \"x\", y";
    for (const std::string& stem : {latin, formula, broken, quoted})
        image(stem + ".png");
    const Outcome outcome = run({m_folder / "in", "--out", m_folder / "out", "--save", "csv,jsonl,labels"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    std::istringstream csv(textOf(m_folder / "out/tokens.csv"));
    std::string line;
    int rows = 0;
    for (std::getline(csv, line); std::getline(csv, line); ++rows) {
        EXPECT_NE(line[0], '=') << line;
        EXPECT_NE(line.substr(0, 2), "\"=") << line;
    }
    EXPECT_EQ(rows, 4);
    const std::string text = textOf(m_folder / "out/tokens.csv");
    EXPECT_NE(text.find("\"say \"\"x\"\", y\","), std::string::npos) << text;
    EXPECT_NE(text.find("'=cmd|calc"), std::string::npos) << text;
    std::istringstream json(textOf(m_folder / "out/tokens.jsonl"));
    for (rows = 0; std::getline(json, line); ++rows)
        EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    EXPECT_EQ(rows, 4);
    EXPECT_TRUE(fs::exists(fs::path(m_folder / "out") / (latin + ".labels.png")));
}

unsigned modeOf(const fs::path& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

// Only the owner may read images of a camera. Models and reports have the umask's mode.
TEST_F(Trust, WritesPrivateImagesAndSharedReports) {
    image("a.png");
    const mode_t before = umask(0027);
    const Outcome ran =
        run({m_folder / "in", "--out", m_folder / "new/out", "--save", "csv,jsonl,labels,timeline"});
    const std::string model = m_folder / "model.onnx", report = m_folder / "bench.json";
    const Outcome measured = mpmProgram({"bench", model, m_folder / "in", "--rounds", "1", "--json", report});
    const Outcome converted = mpmProgram({"convert", model, m_folder / "converted.onnx"});
    const Outcome contained = mpmProgram({"convert", model, m_folder / "contained.onnx", "--sandbox"});
    umask(before);
    ASSERT_EQ(ran.status, 0) << ran.err;
    ASSERT_EQ(measured.status, 0) << measured.err;
    ASSERT_EQ(converted.status, 0) << converted.err;
    for (const auto& entry : fs::recursive_directory_iterator(m_folder / "new"))
        EXPECT_EQ(modeOf(entry), entry.is_directory() ? 0700U : 0600U) << entry.path();
    EXPECT_EQ(modeOf(report), 0640U);
    EXPECT_EQ(modeOf(m_folder / "converted.onnx"), 0640U);
#ifndef __SANITIZE_ADDRESS__
    ASSERT_EQ(contained.status, 0) << contained.err;
    EXPECT_EQ(modeOf(m_folder / "contained.onnx"), 0640U);
#endif
}

TEST_F(Trust, EndsWhateverItWaitsFor) {
    const std::string image = m_folder / "x.jpg", clip = m_folder / "x.avi";
    ASSERT_EQ(mkfifo(image.c_str(), 0600), 0);
    ASSERT_EQ(mkfifo(clip.c_str(), 0600), 0);
    const Outcome pipe = run({image});
    EXPECT_EQ(pipe.status, 3) << pipe.err;
    EXPECT_TRUE(pipe.says("not a regular file")) << pipe.err;
    // A pipe must not be read as a video, neither directly nor through a list.
    for (const std::string& film : {clip, write("list.mp4", "ffconcat version 1.0\nfile x.avi\n")}) {
        const Outcome outcome = run({film});
        EXPECT_EQ(outcome.status, 3) << outcome.err;
        EXPECT_EQ(outcome.lines(), 1) << outcome.err;
        EXPECT_TRUE(outcome.says("not a")) << outcome.err;
    }
    // The program waits for a silent stream until a signal ends the program.
    for (const int signal : {SIGTERM, SIGINT}) {
        HostileServer server("", false);
        Process process({"run", m_folder / "model.onnx", server.url()});
        EXPECT_TRUE(server.awaitsContact());
        process.signal(signal);
        EXPECT_EQ(process.wait().status, 0);  // the status would be 3 without the signal
    }
}

std::string playlistOf(std::string part) {
    part.replace(part.find(".mjpg"), 5, ".ts");  // FFmpeg reads only segments with known extensions
    const std::string list =
        "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + part + "\n#EXT-X-ENDLIST\n";
    return "HTTP/1.0 200 OK\r\nContent-Type: application/vnd.apple.mpegurl\r\nContent-Length: " +
           std::to_string(list.size()) + "\r\n\r\n" + list;
}

/// Returns the URL with another name of the same host. Does not use localhost, because a small system may not
/// know this name.
std::string renamed(std::string url) {
    return url.replace(url.find("127.0.0.1"), 9, "127.1");
}

// If a server answers with a playlist, the program may read the segments only if the address ends with .m3u8.
TEST_F(Trust, APlaylistOfAServerIsNotFollowed) {
    HostileServer other("HTTP/1.0 404 No\r\n\r\n", false);
    HostileServer server(playlistOf(other.url()), false);
    EXPECT_EQ(run({server.url()}).status, 3);
    EXPECT_TRUE(server.awaitsContact());
    // Even if the address allows playlists, a segment's URL must have the same host name as the playlist's
    // URL, also after a redirect.
    HostileServer redirects(
        "HTTP/1.0 302 Found\r\nContent-Length: 0\r\nLocation: " + other.url() + "\r\n\r\n", false);
    HostileServer redirected(playlistOf(renamed(redirects.url())), false);
    for (const HostileServer* list : {&server, &redirected, &redirects}) {
        std::string named = renamed(list->url());
        named.replace(named.find(".mjpg"), 5, ".m3u8");
        const Outcome elsewhere = run({named});
        EXPECT_EQ(elsewhere.status, 3);
        EXPECT_TRUE(elsewhere.says("another host")) << elsewhere.err;
    }
    EXPECT_TRUE(redirects.awaitsContact());
    EXPECT_EQ(other.contacts(), 0);
}

TEST_F(Trust, DurationHoldsForServersThatStallOrNeverEnd) {
    const std::string head =
        "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=f\r\n\r\n--f\r\n"
        "Content-Type: image/jpeg\r\nContent-Length: 9900000000\r\n\r\n";
    for (const bool endless : {false, true}) {
        HostileServer server(head, endless);
        const Outcome outcome = run({server.url(), "--duration", "1"});
        EXPECT_EQ(outcome.status, 3) << outcome.err;
        EXPECT_TRUE(outcome.says("no frame came in"))
            << outcome.err;  // the program's own time limit has another message
        EXPECT_EQ(outcome.err.find("Zq9"), std::string::npos) << outcome.err;
    }
}

}  // namespace
}  // namespace mpm::test
