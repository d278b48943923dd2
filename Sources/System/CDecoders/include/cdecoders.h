/* The content codings of HTTP, each decoded by its library, which is looked up when the first such body comes. */
#pragma once
#include <stddef.h>

typedef enum { CDECODERS_GZIP, CDECODERS_DEFLATE, CDECODERS_ZSTD, CDECODERS_BROTLI } cdecoders_coding;
typedef enum { CDECODERS_MORE, CDECODERS_END, CDECODERS_BROKEN } cdecoders_state;
typedef struct cdecoders_stream cdecoders_stream;

/* Loads the library of a coding. NULL, or in words for a person what is missing and which Debian package has it. */
const char *cdecoders_load(cdecoders_coding coding);

/* NULL when there is no memory. The library must have been loaded. */
cdecoders_stream *cdecoders_open(cdecoders_coding coding);
/* Decodes what it can; moves `input` and `output` past what was read and written. `END` when the coded text is complete
   and all of the input belonged to it. */
cdecoders_state cdecoders_step(cdecoders_stream *stream, const unsigned char **input, size_t *input_size, unsigned char **output,
                               size_t *output_size);
void cdecoders_close(cdecoders_stream *stream);
