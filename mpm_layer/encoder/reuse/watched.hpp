// A hint to the operator in front of an encoder that reuses: its output is wanted again and again.
#pragma once

namespace mpm {

/// The calling thread's encoder reads its tokens there, reusing or not.
void watchTokens(const void* tokens, bool reuses);

/// Whether an encoder that reuses read its tokens there last.
bool tokensAreWatched(const void* tokens);

}  // namespace mpm
