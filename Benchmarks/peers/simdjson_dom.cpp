// The peer: measures how fast simdjson's DOM only parses the lines of standard input, with the best settings.
// It reads large blocks into one padded buffer and parses them in place on one thread. It builds no other data.
//
// usage: simdjson_dom lines|many [members] < events.ndjson     prints one JSON object on standard error
//   lines  finds each newline with memchr and parses the line          many  lets parse_many split the lines
//   members  also looks up in each line the five strings that the conditions of the bench use, and compares none of them

#include <simdjson.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t blockSize = 256 << 10;  // this fits into the second-level cache, where both ways are fastest

struct Count {
    bool wantsMembers = false;
    size_t events = 0, invalid = 0, bytes = 0, members = 0, characters = 0;
    Clock::duration parsing{};
};

// Adds up the found texts, so that the compiler cannot remove the look-ups.
void noteMember(Count &count, simdjson::simdjson_result<simdjson::dom::element> value) {
    std::string_view text;
    if (value.get(text)) return;
    count.members++;
    count.characters += text.size();
}

void note(Count &count, simdjson::simdjson_result<simdjson::dom::element> document) {
    count.events++;
    simdjson::dom::object event, context;
    if (document.get(event)) {
        count.invalid++;
        return;
    }
    if (!count.wantsMembers) return;
    noteMember(count, event["type"]);
    noteMember(count, event["event"]);
    if (event["context"].get(context)) return;
    noteMember(count, context["os"]["name"]);
    noteMember(count, context["locale"]);
    noteMember(count, context["device"]["manufacturer"]);
}

void parseLines(simdjson::dom::parser &parser, const char *block, size_t size, Count &count) {
    for (const char *line = block, *end = block + size; line < end;) {
        auto *newline = static_cast<const char *>(memchr(line, '\n', end - line));
        note(count, parser.parse(line, newline - line, false));
        line = newline + 1;
    }
}

void parseMany(simdjson::dom::parser &parser, const char *block, size_t size, Count &count) {
    simdjson::dom::document_stream documents;
    if (parser.parse_many(block, size, blockSize).get(documents)) {
        count.invalid++;
        return;
    }
    for (auto document : documents) note(count, document);
}

}  // namespace

int main(int argc, char **argv) {
    std::string mode = argc > 1 ? argv[1] : "", more = argc > 2 ? argv[2] : "members";
    if (argc > 3 || (mode != "lines" && mode != "many") || more != "members") {
        fputs("usage: simdjson_dom lines|many [members] < events.ndjson\n", stderr);
        return 64;
    }
    simdjson::dom::parser parser;
    std::vector<char> buffer(2 * blockSize + simdjson::SIMDJSON_PADDING);
    Count count;
    count.wantsMembers = argc == 3;
    size_t held = 0;  // bytes of an unfinished line, moved to the front
    auto start = Clock::now();
    for (;;) {
        if (buffer.size() < held + blockSize + simdjson::SIMDJSON_PADDING) buffer.resize(2 * buffer.size());
        ssize_t got = read(0, buffer.data() + held, blockSize);
        if (got < 0) {
            perror("simdjson_dom");
            return 74;
        }
        size_t filled = held + got;
        if (got == 0) {
            if (held == 0) break;
            buffer[filled++] = '\n';
        }
        auto *last = static_cast<char *>(memrchr(buffer.data(), '\n', filled));
        size_t whole = last ? last + 1 - buffer.data() : 0;
        auto before = Clock::now();
        if (mode == "lines") {
            parseLines(parser, buffer.data(), whole, count);
        } else {
            parseMany(parser, buffer.data(), whole, count);
        }
        count.parsing += Clock::now() - before;
        count.bytes += whole;
        held = filled - whole;
        memmove(buffer.data(), buffer.data() + whole, held);
        if (got == 0) break;
    }
    std::chrono::duration<double> total = Clock::now() - start, parsing = count.parsing;
    fprintf(stderr, "{\"events\": %zu, \"invalid\": %zu, \"members\": %zu, \"characters\": %zu, \"MB/s\": %.1f, \"MB/s parsing only\": %.1f, \"implementation\": \"%s\", \"version\": \"%s\"}\n",
            count.events, count.invalid, count.members, count.characters, count.bytes / total.count() / 1e6, count.bytes / parsing.count() / 1e6,
            simdjson::get_active_implementation()->name().c_str(), SIMDJSON_STRINGIFY(SIMDJSON_VERSION));
    return 0;
}
