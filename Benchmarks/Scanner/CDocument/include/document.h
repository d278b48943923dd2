/* A C interface of simdjson's DOM, with which the scanner is compared. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct document_parser document_parser;

document_parser *document_parser_new(void);
void document_parser_free(document_parser *parser);

/* Parses every line of the text, which needs 64 readable bytes after its end. Returns the number of lines that are valid JSON. */
size_t document_parse_lines(document_parser *parser, const uint8_t *text, size_t count);

/* Returns the version of simdjson and the implementation that it uses on this processor. */
const char *document_version(void);

#ifdef __cplusplus
}
#endif
