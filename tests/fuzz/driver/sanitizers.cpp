// What every fuzz target tells the sanitizers, however it is started: a report ends the process, a size that
// no honest input asks for is one, and memory is bounded. The environment (ASAN_OPTIONS and its like) still
// has the last word.
extern "C" {

const char* __asan_default_options();
const char* __asan_default_options() {
    return "allocator_may_return_null=0:max_allocation_size_mb=2048:hard_rss_limit_mb=2560:quarantine_size_"
           "mb=64:"
           "handle_abort=1:detect_stack_use_after_return=1:strict_string_checks=1";
}

const char* __ubsan_default_options();
const char* __ubsan_default_options() {
    return "halt_on_error=1:print_stacktrace=1";
}

const char* __lsan_default_options();
const char* __lsan_default_options() {
    return "suppressions=" MPM_SOURCE_DIR "/tests/lsan.supp:print_suppressions=0";
}
}
