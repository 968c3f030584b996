#include "mpm_layer/encoder/reuse/watched.hpp"

#include <algorithm>
#include <vector>

namespace mpm {
namespace {

constexpr size_t kMostWatched = 16;  // networks of a thread

thread_local std::vector<const void*> t_watched;

}  // namespace

void watchTokens(const void* tokens, bool reuses) {
    const auto found = std::find(t_watched.begin(), t_watched.end(), tokens);
    if (!reuses) {
        if (found != t_watched.end()) t_watched.erase(found);
        return;
    }
    if (found != t_watched.end()) return;
    if (t_watched.size() >= kMostWatched) t_watched.erase(t_watched.begin());
    t_watched.push_back(tokens);
}

bool tokensAreWatched(const void* tokens) {
    return std::find(t_watched.begin(), t_watched.end(), tokens) != t_watched.end();
}

}  // namespace mpm
