#include "python/src/arguments.hpp"

#include <algorithm>
#include <climits>

namespace mpm::python {

namespace {

[[noreturn]] void rejectType(const py::handle& got, const std::string& name, const std::string& expected) {
    throw py::type_error(name + ": expected " + expected + ", got " + std::string(py::repr(got)));
}

constexpr const char* kBlocks = "block numbers such as (2, 5), or text such as '2,5' or 'none'";

int blockFrom(const std::string& text, const std::string& whole, const std::string& name) {
    const bool digits = !text.empty() && text.size() < 8 &&
                        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) throw py::value_error(name + ": expected " + kBlocks + ", got '" + whole + "'");
    return std::stoi(text);
}

std::vector<int> blocksOfText(const std::string& text, const std::string& name) {
    if (text == "none") return {};
    std::vector<int> blocks;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        blocks.push_back(blockFrom(text.substr(at, end - at), text, name));
        at = end + 1;
    }
    return blocks;
}

/// The whole numbers of a sequence; nothing if it has other values or is none. A copy is read: converting a
/// number may run code that changes the sequence.
std::optional<std::vector<int>> wholeNumbers(const py::handle& value, const std::string& name) {
    if (!py::isinstance<py::sequence>(value) || py::isinstance<py::bytes>(value)) return std::nullopt;
    std::vector<int> numbers;
    for (const py::handle& item : py::tuple(py::reinterpret_borrow<py::object>(value))) {
        if (PyIndex_Check(item.ptr()) == 0 || PyBool_Check(item.ptr())) return std::nullopt;
        const Py_ssize_t number = PyNumber_AsSsize_t(item.ptr(), nullptr);  // clamped
        if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
        if (number < INT_MIN || number > INT_MAX) throw py::value_error(name + ": a number is too large");
        numbers.push_back(static_cast<int>(number));
    }
    return numbers;
}

}  // namespace

std::string textFrom(const py::handle& value, const std::string& name, const std::string& expected) {
    if (!py::isinstance<py::str>(value)) rejectType(value, name, expected);
    return value.cast<std::string>();
}

std::string pathFrom(const py::handle& value, const std::string& name) {
    const auto path = py::reinterpret_steal<py::object>(PyOS_FSPath(value.ptr()));
    if (!path) {
        PyErr_Clear();
        rejectType(value, name, "a path");
    }
    auto bytes = path;
    if (!py::isinstance<py::bytes>(path))
        bytes = py::reinterpret_steal<py::object>(PyUnicode_EncodeFSDefault(path.ptr()));
    if (!bytes) throw py::error_already_set();
    const std::string text = bytes.cast<std::string>();
    if (text.find('\0') != std::string::npos) throw py::value_error(name + ": the path has a null character");
    return text;
}

std::vector<int> blocksFrom(const py::handle& value, const std::string& name) {
    if (py::isinstance<py::str>(value)) return blocksOfText(value.cast<std::string>(), name);
    const std::optional<std::vector<int>> blocks = wholeNumbers(value, name);
    if (!blocks) rejectType(value, name, kBlocks);
    return *blocks;
}

cv::Size sizeFrom(const py::handle& value, const std::string& name) {
    constexpr const char* expected = "(rows, columns), above 0";
    if (value.is_none()) return {};
    const std::optional<std::vector<int>> sides = wholeNumbers(value, name);
    if (!sides || sides->size() != 2) rejectType(value, name, expected);
    if (std::min(sides->front(), sides->back()) < 1)
        throw py::value_error(name + ": expected " + expected + ", got " + std::string(py::repr(value)));
    return {sides->back(), sides->front()};
}

std::string blocksText(const std::vector<int>& blocks) {
    std::string text;
    for (const int block : blocks)
        text += (text.empty() ? "" : ",") + std::to_string(block);
    return text.empty() ? "none" : text;
}

}  // namespace mpm::python
