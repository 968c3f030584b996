// No part of a source's address that may be a secret is shown, whatever form the address has.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "pipeline/source/address.hpp"
#include "pipeline/source/reader.hpp"

namespace mpm::pipeline {
namespace {

/// Everything in `secrets` must not be seen; `shown` is what must.
struct Form {
    const char* text;
    const char* shown;
    std::vector<std::string> secrets;
};

const std::vector<Form>& forms() {
    static const std::vector<Form> all = {
        // User information
        {"rtsp://admin:Zq9secret@camera:554/live", "rtsp://camera:554/live", {"admin", "Zq9secret"}},
        {"rtsp://Zq9TOKEN@camera/live", "rtsp://camera/live", {"Zq9TOKEN"}},
        {"rtsp://admin:Zq9@b/c:d@camera:554/live", "rtsp://camera:554/live", {"Zq9"}},
        {"rtsp://admin:Zq9/se@camera/live", "rtsp://camera/live", {"Zq9", "Zq9/se"}},
        {"rtsp://admin:Zq9?se@camera/live", "rtsp://...", {"Zq9", "admin"}},
        {"rtsp://admin:Zq9#se@camera/live", "rtsp://...", {"Zq9", "admin"}},
        {"rtsp://admin:Zq9 se@camera/live", "rtsp://camera/live", {"Zq9", "admin"}},
        {"rtsp://admin:Zq9%40se@camera/live", "rtsp://camera/live", {"Zq9", "admin"}},
        {"rtsp://admin%3AZq9se%40camera/live", "rtsp://...", {"Zq9se", "admin"}},
        {"rtsp://admin:Zq9secret@[2001:db8::7]:554/ch1", "rtsp://[2001:db8::7]:554/ch1", {"Zq9secret"}},
        {"rtsp://[fe80::1%25eth0]:554/ch1", "rtsp://[fe80::1%25eth0]:554/ch1", {}},
        {"rtsp://admin:Zq9secret", "rtsp://...", {"Zq9secret"}},
        {"rtsps://:Zq9secret@camera/live", "rtsps://camera/live", {"Zq9secret"}},
        // Parameters
        {"https://host/v.m3u8?access_token=Zq9secret", "https://host/v.m3u8", {"Zq9secret"}},
        {"https://a.blob.core.windows.net/c/v.mp4?sv=2021&sig=Zq9secret%3D",
         "https://a.blob.core.windows.net/c/v.mp4",
         {"Zq9secret"}},
        {"https://s3.amazonaws.com/b/v.mp4?X-Amz-Credential=Zq9cred&X-Amz-Signature=Zq9secret",
         "https://s3.amazonaws.com/b/v.mp4",
         {"Zq9cred", "Zq9secret"}},
        {"http://camera/videostream.cgi?loginuse=Zq9user&loginpas=Zq9secret",
         "http://camera/videostream.cgi",
         {"Zq9user", "Zq9secret"}},
        {"http://camera/video.cgi?Zq9user:Zq9secret", "http://camera/video.cgi", {"Zq9user", "Zq9secret"}},
        {"http://camera/live;jsessionid=Zq9secret", "http://camera/live", {"Zq9secret"}},
        {"https://host/v.mp4#access_token=Zq9secret", "https://host/v.mp4", {"Zq9secret"}},
        {"rtsp://camera/user=Zq9user_password=Zq9secret_channel=1_stream=0.sdp",
         "rtsp://camera/...",
         {"Zq9user", "Zq9secret"}},
        {"rtsp://camera/live&user=Zq9user&password=Zq9secret",
         "rtsp://camera/live",
         {"Zq9user", "Zq9secret"}},
        {"rtsp://camera/0/Zq9user:Zq9secret/main", "rtsp://camera/0/...", {"Zq9user", "Zq9secret"}},
        {"rtsp://camera/user%3DZq9user%26pwd%3DZq9secret", "rtsp://camera/...", {"Zq9user", "Zq9secret"}},
        // Keys in the path
        {"rtsps://nvr:7441/Zq9AbCdEfGh1jKlM?enableSrtp", "rtsps://nvr:7441/...", {"Zq9AbCdEfGh1jKlM"}},
        {"https://host/live/3f2504e0-4f89-11d3-9a0c-0305e82c3301/a.m3u8",
         "https://host/live/...",
         {"3f2504e0", "0305e82c3301"}},
        {"rtmp://a.rtmp.youtube.com/live2/zq9a-bcde-fghi-jklm",
         "rtmp://a.rtmp.youtube.com/live2/...",
         {"zq9a"}},
        {"rtmp://user:Zq9pass@live.twitch.tv/app/live_1234_Zq9secret",
         "rtmp://live.twitch.tv/app/...",
         {"Zq9pass", "Zq9secret"}},
        {"rtmp://host/app/stream pubUser=me pubPasswd=Zq9secret live=1",
         "rtmp://host/app/...",
         {"Zq9secret"}},
        {"srt://host:9000?streamid=Zq9stream&passphrase=Zq9secret",
         "srt://host:9000",
         {"Zq9stream", "Zq9secret"}},
        {"srt://host:9000?streamid=#!::u=Zq9user,s=Zq9secret", "srt://host:9000", {"Zq9user", "Zq9secret"}},
        // Without a scheme, or with half of one
        {"admin:Zq9secret@camera:554/live", ".../...", {"admin", "Zq9secret"}},
        {"admin:Zq9secret@camera/live", ".../camera/live", {"admin", "Zq9secret"}},
        {"Zq9TOKEN@camera/live", ".../camera/live", {"Zq9TOKEN"}},
        {"//admin:Zq9secret@camera/live", ".../camera/live", {"Zq9secret"}},
        {"rtsp:/admin:Zq9secret@camera/live", ".../camera/live", {"Zq9secret"}},
        {"camera/video.cgi?user=Zq9user&pwd=Zq9secret", "camera/video.cgi...", {"Zq9user", "Zq9secret"}},
        {"camera:80/live?Zq9secret", "camera:80/live...", {"Zq9secret"}},
        {"camera/a=1/password=Zq9secret", "camera/a=1/...", {"Zq9secret"}},
        {"concat:http://u:Zq9secret@host/a|http://host/b", "...", {"Zq9secret"}},
        {"rtspsrc user-pw=Zq9secret location=rtsp://host/a ! appsink", "...", {"Zq9secret"}},
        // GStreamer
        {"gst:rtspsrc location=rtsp://u:Zq9secret@h/s user-pw=\"Zq9 b\" ! decodebin ! appsink",
         "gst:rtspsrc ! decodebin ! appsink",
         {"Zq9secret", "Zq9 b", "Zq9"}},
        {"gst:souphttpsrc location=\"http://h/v?sig=Zq9sig ! x\" proxy-pw='Zq9 ! secret' ! jpegdec ! appsink",
         "gst:souphttpsrc ! jpegdec ! appsink",
         {"Zq9sig", "Zq9 ! secret", "Zq9"}},
        {"gst:souphttpsrc location=http://h/v extra-headers=\"props,Authorization=(string)\\\"Basic "
         "Zq9c2Vj\\\"\""
         " ! appsink",
         "gst:souphttpsrc ! appsink",
         {"Zq9c2Vj"}},
        {"gst:srtsrc uri=srt://h:1?passphrase=Zq9secret ! video/x-raw,format=BGR ! appsink",
         "gst:srtsrc ! video/x-raw ! appsink",
         {"Zq9secret"}},
        {"gst:rtspsrc location = rtsp://u:Zq9secret@h ! appsink", "gst:rtspsrc ! appsink", {"Zq9secret"}},
        {"gst:rtspsrc user-pw=\"Zq9secret ! appsink", "gst:rtspsrc", {"Zq9secret"}},
        {"gst:rtsp://u:Zq9secret@h ! appsink", "gst: ! appsink", {"Zq9secret"}},
        {"gst:rtspsrc name=a protocols=tcp user-id=Zq9user a. ! appsink",
         "gst:rtspsrc ! appsink",
         {"Zq9user"}},
        // Names for what stands elsewhere
        {"secret:rtsp://admin:Zq9secret@camera/1", "secret:rtsp://camera/1", {"Zq9secret"}},
        {"env:rtsp://admin:Zq9secret@camera/1", "env:rtsp://camera/1", {"Zq9secret"}},
    };
    return all;
}

TEST(Address, ShowsNoSecretOfAnyForm) {
    for (const Form& form : forms()) {
        const Address address(form.text);
        EXPECT_EQ(address.shown(), form.shown) << form.text;
        EXPECT_EQ(address.reveal(), form.text);
        for (const std::string& secret : form.secrets)
            EXPECT_EQ(address.shown().find(secret), std::string::npos) << form.text;
        EXPECT_EQ(address.hasSecrets(), !form.secrets.empty()) << form.text;
    }
}

TEST(Address, TakesItsSecretsOutOfWhatOthersSay) {
    for (const Form& form : forms()) {
        const Address address(form.text);
        std::string told = "opening '" + address.reveal() + "' failed: ";
        for (const std::string& secret : form.secrets)
            told += " <" + secret + "> refused,";
        const std::string safe = address.redact(told + " after 3 attempts");
        for (const std::string& secret : form.secrets)
            EXPECT_EQ(safe.find(secret), std::string::npos) << form.text << "\n" << safe;
        EXPECT_NE(safe.find("after 3 attempts"), std::string::npos) << safe;
        // Somebody who does not know the address.
        const std::string unknown = redacted("opening '" + address.reveal() + "' failed");
        if (address.reveal().find("://") == std::string::npos) continue;
        EXPECT_EQ(unknown.find("Zq9"), std::string::npos) << form.text << "\n" << unknown;
    }
}

TEST(Address, LeavesHonestOnesAsTheyAre) {
    for (const char* text : {"0",
                             "12",
                             "demo",
                             "street.jpg",
                             "/data/clip.avi",
                             "in/*.jpg",
                             "in/frame_00?.png",
                             "./u@h/a.png",
                             "in/icon@2x.png",
                             "/data/cam=3/run:1/a b.png",
                             "C\xc3\xb4te/\xc3\xa9t\xc3\xa9.mp4",
                             "env:CAMERA",
                             "secret:yard",
                             "rtsp://camera:554/Streaming/Channels/101",
                             "rtsp://10.0.0.7/h264Preview_01_main",
                             "http://camera/axis-cgi/mjpg/video.cgi",
                             "rtsp://camera/live.sdp",
                             "rtsp://camera/axis-media/media.amp",
                             "file:///data/my clip.mp4",
                             "http://camera/my%20stream",
                             "rtsp://camera/20241122103000/video",
                             "gst:videotestsrc ! videoconvert ! appsink",
                             "udp://239.0.0.1:1234",
                             "srt://:9000",
                             "",
                             "/",
                             "a:b"}) {
        EXPECT_EQ(Address(text).shown(), text);
        EXPECT_FALSE(Address(text).hasSecrets()) << text;
    }
}

TEST(Address, IsNotAText) {
    EXPECT_FALSE((std::is_convertible_v<Address, std::string>));
    EXPECT_FALSE((std::is_constructible_v<std::string, Address>));
    EXPECT_TRUE((std::is_convertible_v<std::string, Address>));
}

TEST(Redacted, FindsSecretsInForeignText) {
    EXPECT_EQ(redacted("a rtsp://u:p@h, then http://v:q@i/"), "a rtsp://h, then http://i/");
    EXPECT_EQ(redacted("rtsp://u:p q@h/s refused"), "rtsp://h/s refused");
    EXPECT_EQ(redacted("rtsp://u:p\"q@h/s refused").find('q'), std::string::npos);
    EXPECT_EQ(redacted("user-pw=\"a b\" proxy-pw=c"), "user-pw=... proxy-pw=...");
    EXPECT_EQ(redacted("Authorization: Basic dXNlcjpwYXNz sent"), "Authorization: Basic ... sent");
    EXPECT_EQ(redacted("in/design=3.png: damaged, codec=h264"), "in/design=3.png: damaged, codec=h264");
    EXPECT_EQ(redacted("password="), "password=");
}

TEST(Address, StandsInTheEnvironmentUnderItsName) {
    setenv("MPM_TEST_CAMERA", "rtsp://admin:Zq9secret@127.0.0.1:9/live", 1);
    const Address address = resolved("env:MPM_TEST_CAMERA");
    EXPECT_EQ(address.shown(), "env:MPM_TEST_CAMERA");
    EXPECT_EQ(address.reveal(), "rtsp://admin:Zq9secret@127.0.0.1:9/live");
    EXPECT_EQ(address.redact("cannot open rtsp://admin:Zq9secret@127.0.0.1:9/live as admin, Zq9secret"),
              "cannot open env:MPM_TEST_CAMERA as ..., ...");
    EXPECT_EQ(resolved(address), address);
    EXPECT_EQ(sourceKind("env:MPM_TEST_CAMERA"), SourceKind::Stream);
    const auto source = makeSource("env:MPM_TEST_CAMERA");
    EXPECT_EQ(source->name(), "env:MPM_TEST_CAMERA");
    for (const char* value : {"0", "env:OTHER", "secret:x", ""}) {
        setenv("MPM_TEST_CAMERA", value, 1);
        if (std::string(value) == "0") {
            EXPECT_EQ(sourceKind("env:MPM_TEST_CAMERA"), SourceKind::Camera);
            EXPECT_EQ(resolved("env:MPM_TEST_CAMERA").redact("after 0 of 10"), "after 0 of 10");
        } else {
            EXPECT_THROW(sourceKind("env:MPM_TEST_CAMERA"), SourceError) << value;
        }
    }
    unsetenv("MPM_TEST_CAMERA");
    EXPECT_THROW(sourceKind("env:MPM_TEST_CAMERA"), SourceError);
    EXPECT_THROW(sourceKind("env:"), SourceError);
    EXPECT_THROW(sourceKind("secret:"), SourceError);
}

/// What the thread of a reader says of a source that cannot be opened.
TEST(Reader, SaysNoSecret) {
    SourceOptions quick;
    quick.openTimeout = std::chrono::milliseconds(500);
    for (const char* text :
         {"rtsp://admin:Zq9secret@127.0.0.1:9/live?token=Zq9token", "http://Zq9TOKEN@127.0.0.1:9/",
          "gst:filesrc location=/missing/Zq9secret ! appsink", "Zq9user:Zq9secret@127.0.0.1/x",
          "missing/password=Zq9secret.mp4"}) {
        Reader reader(text, {}, quick);
        SourceStatus status = reader.status();
        for (int i = 0; i < 300 && status.message.empty(); ++i) {
            Frame frame;
            reader.take(frame, std::chrono::milliseconds(20));
            status = reader.status();
        }
        EXPECT_FALSE(status.message.empty()) << text;
        EXPECT_EQ(status.message.find("Zq9"), std::string::npos) << status.message;
    }
}

}  // namespace
}  // namespace mpm::pipeline
