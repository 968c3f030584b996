// The C interface for Python: operators for cv2.dnn_registerLayer, settings of the process, reports.
#include <memory>

#include <pybind11/stl.h>

#include <mpm/mpm.h>
#include <mpm/mpm.hpp>

#include "python/src/arguments.hpp"
#include "python/src/arrays.hpp"
#include "python/src/bindings.hpp"

namespace mpm::python {

namespace {

[[noreturn]] void fail() {
    throw cv::Exception(cv::Error::StsError, mpm_last_error(), "operator", __FILE__, __LINE__);
}

void check(int status) {
    if (status < 0) fail();
}

bool isInt32(const py::array& array) {
    return array.dtype().equal(py::dtype::of<std::int32_t>());
}

/// A view of a NumPy array of float32 or int32. `held` gets the array, which must outlive the view.
mpm_array viewOf(const py::handle& value, const std::string& name, std::vector<py::array>& held) {
    const bool whole = py::isinstance<py::array>(value) && isInt32(py::reinterpret_borrow<py::array>(value));
    const py::array array =
        checkedArray(value, name, whole ? py::dtype::of<std::int32_t>() : py::dtype::of<float>(), 0);
    if (array.ndim() < 1 || array.ndim() > MPM_MAX_DIMS)
        throw py::value_error(name + ": expected 1 to " + std::to_string(MPM_MAX_DIMS) + " dimensions");
    held.push_back(array);
    mpm_array view{};
    view.data = const_cast<void*>(array.data());
    view.type = whole ? MPM_I32 : MPM_F32;
    view.dims = static_cast<int>(array.ndim());
    for (int k = 0; k < view.dims; ++k) {
        if (array.shape(k) > INT_MAX) throw py::value_error(name + ": the array is too large");
        view.sizes[k] = static_cast<int>(array.shape(k));
    }
    return view;
}

/// One operator with its constants, which it keeps alive.
class Operator {
public:
    Operator(const std::string& type, const py::dict& attributes, const py::list& constants)
        : m_handle(mpm_operator_new(type.c_str()), &mpm_operator_free) {
        if (!m_handle) fail();
        // Copies: converting a value may run code that changes the dictionary or the list.
        for (const auto& [name, value] : py::dict(attributes.attr("copy")()))
            set(textFrom(name, "attributes"), value);
        for (const py::handle& constant : py::tuple(constants)) {
            const mpm_array view = viewOf(constant, "blobs", m_constants);
            check(mpm_operator_add_constant(m_handle.get(), &view));
        }
        check(mpm_operator_build(m_handle.get()));
    }

    std::vector<std::vector<int>> shapes(const std::vector<std::vector<int>>& inputs) {
        std::vector<mpm_array> views;
        for (const std::vector<int>& sizes : inputs) {
            if (sizes.empty() || sizes.size() > MPM_MAX_DIMS)
                throw py::value_error("inputs: expected 1 to 8 sizes");
            mpm_array view{};
            view.dims = static_cast<int>(sizes.size());
            std::copy(sizes.begin(), sizes.end(), view.sizes);
            views.push_back(view);
        }
        std::vector<std::vector<int>> result;
        for (const mpm_array& output : outputsOf(views))
            result.emplace_back(output.sizes, output.sizes + output.dims);
        return result;
    }

    py::list run(const py::list& inputs) {
        std::vector<mpm_array> views;
        std::vector<py::array> held;  // other threads may change the list meanwhile
        for (const py::handle& input : py::tuple(inputs))
            views.push_back(viewOf(input, "inputs[" + std::to_string(views.size()) + "]", held));
        std::vector<mpm_array> outputs = outputsOf(views);
        py::list arrays;
        m_results.resize(outputs.size());
        for (size_t i = 0; i < outputs.size(); ++i) {
            const auto& sizes = outputs[i].sizes;
            arrays.append(resultOf(m_results[i], {sizes, sizes + outputs[i].dims}));
            outputs[i].data = m_results[i].mutable_data();
        }
        int status = 0;
        {
            const py::gil_scoped_release release;
            status = mpm_operator_run(m_handle.get(), views.data(), static_cast<int>(views.size()),
                                      outputs.data(), static_cast<int>(outputs.size()));
        }
        check(status);
        return arrays;
    }

private:
    using Result = py::array_t<float>;

    void set(const std::string& name, const py::handle& value) {
        mpm_operator* op = m_handle.get();
        if (py::isinstance<py::str>(value)) {
            check(mpm_operator_set_text(op, name.c_str(), value.cast<std::string>().c_str()));
            return;
        }
        const bool several = py::isinstance<py::sequence>(value) || py::isinstance<py::array>(value);
        const py::tuple values =
            several ? py::tuple(py::reinterpret_borrow<py::object>(value)) : py::make_tuple(value);
        bool whole = true;
        for (const py::handle& v : values)
            whole = whole && PyIndex_Check(v.ptr()) != 0;
        if (whole) {
            const auto ints = values.cast<std::vector<int>>();
            check(mpm_operator_set_ints(op, name.c_str(), ints.data(), static_cast<int>(ints.size())));
        } else {
            const auto reals = values.cast<std::vector<double>>();
            check(mpm_operator_set_reals(op, name.c_str(), reals.data(), static_cast<int>(reals.size())));
        }
    }

    /// The last forward's array where nobody else holds it: fresh memory costs a page fault every 4 KiB.
    static const Result& resultOf(Result& kept, const std::vector<py::ssize_t>& sizes) {
        const bool fits = kept.ndim() == static_cast<py::ssize_t>(sizes.size()) &&
                          std::equal(sizes.begin(), sizes.end(), kept.shape());
        if (!fits || kept.ref_count() > 1) kept = Result(sizes);
        return kept;
    }

    std::vector<mpm_array> outputsOf(const std::vector<mpm_array>& inputs) {
        const int count = static_cast<int>(inputs.size());
        const int all = mpm_operator_outputs(m_handle.get(), inputs.data(), count, nullptr, 0);
        check(all);
        std::vector<mpm_array> outputs(static_cast<size_t>(all));
        check(mpm_operator_outputs(m_handle.get(), inputs.data(), count, outputs.data(), all));
        return outputs;
    }

    std::unique_ptr<mpm_operator, decltype(&mpm_operator_free)> m_handle;
    std::vector<py::array> m_constants;
    std::vector<Result> m_results;
};

std::vector<std::string> types() {
    std::vector<std::string> all;
    for (int i = 0; const char* type = mpm_operator_type(i); ++i)
        all.emplace_back(type);
    return all;
}

/// The numbers of one list of the report.
template <class Read>
std::vector<int> reported(const Read& read) {
    const int count = read(nullptr, 0);
    check(count);
    std::vector<int> values(static_cast<size_t>(count));
    check(read(values.data(), count));
    return values;
}

py::list report() {
    py::list images;
    for (int image = 0; image < mpm_report_images(); ++image) {
        py::dict entry;
        const std::vector<int> map =
            reported([&](int* to, int room) { return mpm_report_map(image, to, room); });
        entry["tokens"] = reported([&](int* to, int room) { return mpm_report_tokens(image, to, room); });
        entry["map"] = py::array_t<int>(static_cast<py::ssize_t>(map.size()), map.data());
        images.append(entry);
    }
    return images;
}

void set(int (*setter)(const char*), const std::optional<std::string>& value) {
    if (setter(value ? value->c_str() : nullptr) < 0) throw py::value_error(mpm_last_error());
}

}  // namespace

void bindOperators(py::module_& module) {
    py::class_<Operator> op(module, "Operator", "An operator of ours, for one thread at a time.");
    rejectUnfinished(op)
        .def(py::init<const std::string&, const py::dict&, const py::list&>(), py::arg("type"),
             py::arg("attributes"), py::arg("constants"))
        .def("shapes", &Operator::shapes, py::arg("inputs"), "The shapes of the outputs.")
        .def("run", &Operator::run, py::arg("inputs"), "Computes the outputs, float32.");
    module.def("begin_network", &mpm_begin_network, "mpm_begin_network()");
    module.def("end_network", &mpm_end_network, "mpm_end_network()");
    module.def("operators", &types, "The names of all operators.");
    module.def("report", &report,
               "The last forward of a network of cv2 in this thread: for each image its `tokens` and `map`.");
    module.def(
        "last_error", [] { return std::string(mpm_last_error()); },
        "Why the last operator failed in this thread; cv2 reports only that it failed.");
    module.def(
        "set_blocks", [](const std::optional<std::string>& v) { set(mpm_set_blocks, v); }, py::arg("blocks"),
        "mpm_set_blocks()");
    module.def(
        "set_method", [](const std::optional<std::string>& v) { set(mpm_set_method, v); }, py::arg("method"),
        "mpm_set_method()");
    module.def(
        "set_device", [](const std::optional<std::string>& v) { set(mpm_set_device, v); }, py::arg("device"),
        "mpm_set_device()");
    module.def(
        "set_precision", [](const std::optional<std::string>& v) { set(mpm_set_precision, v); },
        py::arg("precision"), "mpm_set_precision()");
    module.def(
        "set_reuse", [](const std::optional<std::string>& v) { set(mpm_set_reuse, v); }, py::arg("reuse"),
        "mpm_set_reuse()");
    module.def("register_native", &mpm::registerLayers,
               "Registers the C++ layers with the OpenCV libraries that this module is linked to.");
}

}  // namespace mpm::python
