#include "support/npy.hpp"

#include <fstream>
#include <iterator>

namespace mpm::test {
namespace {

std::string field(const std::string& header, const std::string& key) {
    const size_t at = header.find("'" + key + "':");
    if (!(at != std::string::npos))
        CV_Error(cv::Error::StsBadArg, "the header of the .npy file lacks a field");
    return header.substr(at + key.size() + 3);
}

std::vector<int> parseShape(const std::string& text) {
    std::vector<int> shape;
    std::string digits;
    for (char c : text.substr(0, text.find(')') + 1)) {
        if (c >= '0' && c <= '9') {
            digits += c;
        } else if (!digits.empty()) {
            shape.push_back(std::stoi(digits));
            digits.clear();
        }
    }
    return shape;
}

}  // namespace

Npy readNpy(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!(file.good())) CV_Error(cv::Error::StsBadArg, "the .npy file cannot be opened");
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!(bytes.size() > 12 && bytes.compare(1, 5, "NUMPY") == 0))
        CV_Error(cv::Error::StsBadArg, "not a .npy file");
    const bool wide = bytes[6] > 1;
    const auto byte = [&](int k) { return static_cast<unsigned char>(bytes[k]); };
    const size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
    const size_t start = (wide ? 12 : 10) + length;
    const std::string header = bytes.substr(wide ? 12 : 10, length);
    if (!(field(header, "fortran_order").find("False") < 3))
        CV_Error(cv::Error::StsBadArg, "the .npy file is in Fortran order");
    Npy array;
    array.shape = parseShape(field(header, "shape"));
    size_t count = 1;
    for (int extent : array.shape)
        count *= extent;
    const std::string type = field(header, "descr");
    if (type.find("<f4") < 3) {
        CV_CheckEQ(bytes.size() - start, count * 4, "the .npy file has another size than its shape");
        const float* from = reinterpret_cast<const float*>(bytes.data() + start);
        array.floats.assign(from, from + count);
    } else {
        if (!(type.find("<i8") < 3)) CV_Error(cv::Error::StsBadArg, "the .npy file is neither f32 nor i64");
        CV_CheckEQ(bytes.size() - start, count * 8, "the .npy file has another size than its shape");
        const int64_t* from = reinterpret_cast<const int64_t*>(bytes.data() + start);
        array.integers.assign(from, from + count);
    }
    return array;
}

void writeNpy(const std::string& path, const Npy& array) {
    std::string header = array.floats.empty() ? "{'descr': '<i8'" : "{'descr': '<f4'";
    header += ", 'fortran_order': False, 'shape': (";
    for (int extent : array.shape)
        header += std::to_string(extent) + ",";
    header += "), }";
    header.resize((10 + header.size() + 64) / 64 * 64 - 11, ' ');  // numpy aligns the data to 64 bytes
    header += '\n';
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write("\x93NUMPY\x01", 7).put('\0');
    file.put(static_cast<char>(header.size() & 255)).put(static_cast<char>(header.size() >> 8));
    file << header;
    if (array.floats.empty())
        file.write(reinterpret_cast<const char*>(array.integers.data()), array.integers.size() * 8);
    else
        file.write(reinterpret_cast<const char*>(array.floats.data()), array.floats.size() * 4);
    file.close();
    if (!file) CV_Error(cv::Error::StsError, "the .npy file cannot be written");
}

cv::Mat Npy::mat() const {
    const int rank = static_cast<int>(shape.size());
    if (!floats.empty())
        return cv::Mat(rank, shape.data(), CV_32F, const_cast<float*>(floats.data())).clone();
    cv::Mat result(rank, shape.data(), CV_32S);
    for (size_t k = 0; k < integers.size(); ++k)
        result.ptr<int>()[k] = static_cast<int>(integers[k]);
    return result;
}

bool fileExists(const std::string& path) {
    return std::ifstream(path).good();
}

}  // namespace mpm::test
