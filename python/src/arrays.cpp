// Arrays of the C interface: conversion to and from matrices, buffers, image files.
#include <opencv2/imgcodecs.hpp>

#include "mpm_layer/dnn/opencv.hpp"
#include "pipeline/image/read.hpp"
#include "python/src/border.hpp"

namespace mpm::python {

namespace {

struct Type {
    int type, depth;
};
constexpr Type kTypes[] = {{MPM_F32, CV_32F}, {MPM_I32, CV_32S}, {MPM_U8, CV_8U},   {MPM_I8, CV_8S},
                           {MPM_U16, CV_16U}, {MPM_I16, CV_16S}, {MPM_F64, CV_64F}, {MPM_I64, dnn::kInteger}};

int depthOf(int type) {
    for (const Type& known : kTypes)
        if (known.type == type && (type != MPM_I64 || dnn::kHasInt64)) return known.depth;
    throw WrongValue("an array has a type that this OpenCV does not have");
}

int typeOf(int depth) {
    for (const Type& known : kTypes)
        if (known.depth == depth) return known.type;
    throw WrongValue("the network's output has a type that NumPy does not have");
}

}  // namespace

cv::Mat matrixOf(const mpm_array& array, bool channels) {
    if (array.dims < 1 || array.dims > MPM_MAX_DIMS) throw WrongValue("expected 1 to 8 dimensions");
    const int depth = depthOf(array.type);
    if (channels && array.dims == 3 && array.sizes[2] <= CV_CN_MAX)
        return {array.sizes[0], array.sizes[1], CV_MAKETYPE(depth, array.sizes[2]), array.data};
    return {array.dims, array.sizes, depth, array.data};
}

mpm_array arrayOf(const cv::Mat& matrix) {
    mpm_array array{};
    array.data = matrix.data;
    array.type = typeOf(matrix.depth());
    array.dims = matrix.dims + (matrix.channels() > 1 ? 1 : 0);
    if (array.dims > MPM_MAX_DIMS) throw WrongValue("an array has too many dimensions");
    for (int k = 0; k < matrix.dims; ++k)
        array.sizes[k] = matrix.size[k];
    if (matrix.channels() > 1) array.sizes[matrix.dims] = matrix.channels();
    return array;
}

mpm_buffer* bufferOf(const cv::Mat& matrix) {
    typeOf(matrix.depth());
    return new mpm_buffer{matrix.isContinuous() ? matrix : matrix.clone()};
}

std::vector<cv::Mat> imagesOf(const mpm_array* images, int count) {
    std::vector<cv::Mat> views;
    for (int i = 0; i < count; ++i) {
        const mpm_array& image = images[i];
        if (image.type != MPM_U8 || image.dims != 3 || image.sizes[2] != 3 || image.sizes[0] < 1 ||
            image.sizes[1] < 1)
            throw WrongValue("image: expected uint8 of the shape (rows, columns, 3), not empty");
        views.push_back(matrixOf(image, true));
    }
    return views;
}

}  // namespace mpm::python

using namespace mpm::python;

void mpm_free(char* text) {
    std::free(text);
}

void mpm_buffer_array(const mpm_buffer* buffer, mpm_array* array) {
    *array = arrayOf(buffer->mat);
}

void mpm_buffer_free(mpm_buffer* buffer) {
    delete buffer;
}

int mpm_image_read(const char* path, mpm_buffer** image, char** error) {
    return guarded(error, [&] {
        try {
            *image = bufferOf(mpm::pipeline::readImage(path, cv::IMREAD_COLOR));
        } catch (const mpm::pipeline::ImageError& failure) {
            throw std::runtime_error(std::string(path) + ": " + failure.what());
        }
    });
}

int mpm_image_write(const char* path, const mpm_array* image, char** error) {
    return guarded(error, [&] {
        if (!cv::imwrite(path, matrixOf(*image, true)))
            throw std::runtime_error(std::string(path) + ": cannot be written");
    });
}

void mpm_set_threads(int threads) {
    cv::setNumThreads(threads > 0 ? threads : -1);
}
