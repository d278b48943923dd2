#include "document.h"

#include <cstring>
#include <string>

#include <simdjson.h>

struct document_parser {
  simdjson::dom::parser parser;
};

document_parser *document_parser_new(void) { return new document_parser; }
void document_parser_free(document_parser *parser) { delete parser; }

size_t document_parse_lines(document_parser *parser, const uint8_t *text, size_t count) {
  size_t valid = 0;
  const uint8_t *line = text, *end = text + count;
  while (line < end) {
    auto newline = static_cast<const uint8_t *>(memchr(line, '\n', static_cast<size_t>(end - line)));
    if (newline == nullptr) newline = end;
    simdjson::dom::element document;
    auto error = parser->parser.parse(line, static_cast<size_t>(newline - line), false).get(document);
    valid += error == simdjson::SUCCESS;
    line = newline + 1;
  }
  return valid;
}

const char *document_version(void) {
  static const std::string text = std::string("simdjson ") + std::to_string(simdjson::SIMDJSON_VERSION_MAJOR) + "." +
                                  std::to_string(simdjson::SIMDJSON_VERSION_MINOR) + "." +
                                  std::to_string(simdjson::SIMDJSON_VERSION_REVISION) + " (" +
                                  simdjson::get_active_implementation()->name() + ")";
  return text.c_str();
}
