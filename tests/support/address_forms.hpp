// Addresses of cameras in the forms that people and vendors use, and the secret parts of each. Every secret
// contains "Zq9", or is next to a secret that contains "Zq9".
#pragma once

#include <string>
#include <vector>

namespace mpm::test {

/// An address and the text `shown` that may be displayed instead. None of `secrets` may be displayed.
struct AddressForm {
    const char* text;
    const char* shown;
    std::vector<std::string> secrets;
};

inline const std::vector<AddressForm>& addressForms() {
    static const std::vector<AddressForm> all = {
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
        // Without a scheme, or with half a scheme
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
        // Names of secrets that are kept elsewhere
        {"secret:rtsp://admin:Zq9secret@camera/1", "secret:rtsp://camera/1", {"Zq9secret"}},
        {"env:rtsp://admin:Zq9secret@camera/1", "env:rtsp://camera/1", {"Zq9secret"}},
    };
    return all;
}

}  // namespace mpm::test
