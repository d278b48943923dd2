// Regular expressions of RE2 behind C functions. No exception and no C++ type leaves this file.
#include "cre2.h"

#include <re2/re2.h>

#include <algorithm>
#include <climits>
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

extern "C" int switchyard_pattern_size(void *pattern) {
    const RE2 *compiled = static_cast<RE2 *>(pattern);
    try {
        return std::max(compiled->ProgramSize(), compiled->ReverseProgramSize());
    } catch (...) {
        return INT_MAX;
    }
}

extern "C" int switchyard_pattern_groups(void *pattern) { return static_cast<RE2 *>(pattern)->NumberOfCapturingGroups(); }

extern "C" int switchyard_pattern_find(void *pattern, const void *text, size_t count, size_t from, ptrdiff_t *spans,
                                       int count_of_spans) {
    enum { most = 10 };
    re2::StringPiece found[most];
    const char *start = static_cast<const char *>(text);
    if (count_of_spans > most) return 0;
    try {
        const RE2 *compiled = static_cast<RE2 *>(pattern);
        if (!compiled->Match(re2::StringPiece(start, count), from, count, RE2::UNANCHORED, found, count_of_spans)) return 0;
    } catch (...) {
        return 0;
    }
    for (int i = 0; i < count_of_spans; i++) {
        const bool took_part = found[i].data() != nullptr;
        spans[2 * i] = took_part ? found[i].data() - start : -1;
        spans[2 * i + 1] = took_part ? found[i].data() - start + static_cast<ptrdiff_t>(found[i].size()) : -1;
    }
    return 1;
}

extern "C" void switchyard_pattern_free(void *pattern) { delete static_cast<RE2 *>(pattern); }
