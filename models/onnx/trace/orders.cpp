#include "models/onnx/trace/trace.hpp"

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {

List<int32_t> walk(const Shape& out, int64_t start, const List<int64_t>& step) {
    const int64_t count = elementCount(out);
    checkRoom(checkedProduct<int64_t>(count, 4), kPurpose);
    List<int32_t> order(static_cast<size_t>(count));
    List<int64_t> index(out.size(), 0);
    int64_t position = start;
    for (int32_t& at : order) {
        at = static_cast<int32_t>(position);
        for (size_t d = out.size(); d-- > 0;) {
            position += step[d];
            if (++index[d] < out[d]) break;
            position -= step[d] * out[d];
            index[d] = 0;
        }
    }
    return order;
}

List<int32_t> placed(const Shape& in, const Shape& out,
                     const std::function<int64_t(size_t, int64_t)>& indexAt) {
    const int64_t count = elementCount(out), last = elementCount(in);
    checkRoom(checkedProduct<int64_t>(count, 4), kPurpose);
    List<int32_t> order(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        int64_t rest = k, at = 0, step = 1;
        bool inside = true;
        for (size_t d = in.size(); d-- > 0; rest /= out[d]) {
            const int64_t index = indexAt(d, rest % out[d]);
            inside &= index >= 0 && index < in[d];
            at += index * step;
            step *= in[d];
        }
        order[k] = static_cast<int32_t>(inside ? at : last);
    }
    return order;
}

}  // namespace mpm::models
