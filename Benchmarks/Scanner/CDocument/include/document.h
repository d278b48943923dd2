/* simdjson's DOM behind C: what the scanner is measured against. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct document_parser document_parser;

document_parser *document_parser_new(void);
void document_parser_free(document_parser *parser);

/* Parses every line of the text, which has 64 readable bytes behind it. Returns how many lines are valid JSON. */
size_t document_parse_lines(document_parser *parser, const uint8_t *text, size_t count);

/* Its version and the implementation it chose for this processor. */
const char *document_version(void);

#ifdef __cplusplus
}
#endif
