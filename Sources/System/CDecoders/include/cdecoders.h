/* Decoders for the content codings of HTTP. The library of a coding is loaded when the first body with that coding arrives. */
#pragma once
#include <stddef.h>

typedef enum { CDECODERS_GZIP, CDECODERS_DEFLATE, CDECODERS_ZSTD, CDECODERS_BROTLI } cdecoders_coding;
typedef enum { CDECODERS_MORE, CDECODERS_END, CDECODERS_BROKEN } cdecoders_state;
typedef struct cdecoders_stream cdecoders_stream;

/* Loads the library of a coding. Returns NULL, or a message that names what is missing and which Debian package has it. */
const char *cdecoders_load(cdecoders_coding coding);

/* Opens a stream. The library of the coding must have been loaded. Returns NULL if there is no memory. */
cdecoders_stream *cdecoders_open(cdecoders_coding coding);
/* Decodes as much as possible and moves `input` and `output` past the bytes that were read and written. Returns CDECODERS_END if the coded
   text is complete and all of the input belonged to it. */
cdecoders_state cdecoders_step(cdecoders_stream *stream, const unsigned char **input, size_t *input_size, unsigned char **output,
                               size_t *output_size);
void cdecoders_close(cdecoders_stream *stream);
