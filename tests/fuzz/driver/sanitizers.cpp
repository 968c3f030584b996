// Sanitizer options of every fuzz target, unless ASAN_OPTIONS or similar variables override them: a report
// ends the process, an allocation larger than any valid input needs is reported, and memory is limited.
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
