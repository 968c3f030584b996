// An RTSP server that sends moving test images as motion JPEG: rtsp_server PORT [RATE WIDTH HEIGHT]
#include <gst/rtsp-server/rtsp-server.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
    if (argc != 2 && argc != 5) return 2;
    const auto number = [&](int at, int otherwise) {
        return std::to_string(argc > at ? std::atoi(argv[at]) : otherwise);
    };
    gst_init(nullptr, nullptr);
    GstRTSPServer* server = gst_rtsp_server_new();
    gst_rtsp_server_set_address(server, "127.0.0.1");
    gst_rtsp_server_set_service(server, argv[1]);
    GstRTSPMediaFactory* factory = gst_rtsp_media_factory_new();
    const std::string launch =
        "( videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=" + number(3, 160) +
        ",height=" + number(4, 120) + ",framerate=" + number(2, 15) + "/1 ! jpegenc ! rtpjpegpay name=pay0 )";
    gst_rtsp_media_factory_set_launch(factory, launch.c_str());
    gst_rtsp_media_factory_set_shared(factory, TRUE);
    GstRTSPMountPoints* mounts = gst_rtsp_server_get_mount_points(server);
    gst_rtsp_mount_points_add_factory(mounts, "/camera", factory);
    g_object_unref(mounts);
    if (gst_rtsp_server_attach(server, nullptr) == 0) return 1;
    std::puts("ready");
    std::fflush(stdout);
    g_main_loop_run(g_main_loop_new(nullptr, FALSE));
}
