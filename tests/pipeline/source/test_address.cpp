// Parts of a source's address that may be secret are never shown, in any form of address.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "pipeline/source/address.hpp"
#include "pipeline/source/reader.hpp"
#include "support/address_forms.hpp"

namespace mpm::pipeline {
namespace {

using test::AddressForm;

TEST(Address, ShowsNoSecretOfAnyForm) {
    for (const AddressForm& form : test::addressForms()) {
        const Address address(form.text);
        EXPECT_EQ(address.shown(), form.shown) << form.text;
        EXPECT_EQ(address.reveal(), form.text);
        for (const std::string& secret : form.secrets)
            EXPECT_EQ(address.shown().find(secret), std::string::npos) << form.text;
        EXPECT_EQ(address.hasSecrets(), !form.secrets.empty()) << form.text;
    }
}

TEST(Address, TakesItsSecretsOutOfWhatOthersSay) {
    for (const AddressForm& form : test::addressForms()) {
        const Address address(form.text);
        std::string told = "opening '" + address.reveal() + "' failed: ";
        for (const std::string& secret : form.secrets)
            told += " <" + secret + "> refused,";
        const std::string safe = address.redact(told + " after 3 attempts");
        for (const std::string& secret : form.secrets)
            EXPECT_EQ(safe.find(secret), std::string::npos) << form.text << "\n" << safe;
        EXPECT_NE(safe.find("after 3 attempts"), std::string::npos) << safe;
        // redacted() does not know the address, but must hide its secrets too.
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

/// The message of a reader for a source that cannot be opened must not contain a secret.
TEST(Reader, SaysNoSecret) {
    SourceOptions quick;
    quick.openTimeout = std::chrono::milliseconds(500);
    for (const char* text :
         {"rtsp://admin:Zq9secret@127.0.0.1:9/live?token=Zq9token", "http://Zq9TOKEN@127.0.0.1:9/",
          "gst:filesrc location=/missing/Zq9secret ! appsink", "Zq9user:Zq9secret@127.0.0.1/x",
          "missing/password=Zq9secret.mp4"}) {
        Reader reader(text, {}, quick);
        SourceStatus status = reader.status();
        for (int i = 0; i < 300 && status.message().empty(); ++i) {
            Frame frame;
            reader.take(frame, std::chrono::milliseconds(20));
            status = reader.status();
        }
        EXPECT_FALSE(status.message().empty()) << text;
        EXPECT_EQ(status.message().find("Zq9"), std::string::npos) << status.message();
    }
}

}  // namespace
}  // namespace mpm::pipeline
