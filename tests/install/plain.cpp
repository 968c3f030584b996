// plain MODEL HxW: runs a model with OpenCV, without code of MPM, as an example of a program into which
// LD_PRELOAD loads the library. Prints the mean of the output.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <opencv2/dnn.hpp>

int main(int argc, char** argv) {
    int rows = 0, cols = 0;
    if (argc != 3 || std::sscanf(argv[2], "%dx%d", &rows, &cols) != 2) return EXIT_FAILURE;
    try {
        cv::dnn::Net net = cv::dnn::readNetFromONNX(std::string(argv[1]));
        const int shape[] = {1, 3, rows, cols};
        cv::Mat blob(4, shape, CV_32F);
        cv::RNG random(7);
        random.fill(blob, cv::RNG::NORMAL, 0, 1);
        net.setInput(blob);
        std::printf("%.9g\n", cv::mean(cv::abs(net.forward().reshape(1, 1)))[0]);
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "plain: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
