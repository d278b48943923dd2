// No exception and no C++ type leaves this file.
#include "cre2.h"

#include <re2/re2.h>

#include <cstdio>
#include <new>

extern "C" void *switchyard_pattern_compile(const void *pattern, size_t count, char *message, size_t capacity) {
    try {
        RE2::Options options;
        options.set_log_errors(false);
        options.set_max_mem(1 << 20);
        RE2 *compiled = new RE2(re2::StringPiece(static_cast<const char *>(pattern), count), options);
        if (compiled->ok()) return compiled;
        snprintf(message, capacity, "%s", compiled->error().c_str());
        delete compiled;
    } catch (...) {
        snprintf(message, capacity, "out of memory");
    }
    return nullptr;
}

extern "C" int switchyard_pattern_matches(void *pattern, const void *text, size_t count) {
    try {
        return RE2::PartialMatch(re2::StringPiece(static_cast<const char *>(text), count), *static_cast<RE2 *>(pattern));
    } catch (...) {
        return 0;
    }
}

extern "C" void switchyard_pattern_free(void *pattern) { delete static_cast<RE2 *>(pattern); }
