#include "cdecoders.h"

#include <brotli/decode.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* The largest window is 8 MB, as RFC 9659 requires for this content coding. The library's own limit is 128 MB. */
enum { zstd_window_log = 23 };

static struct {
  __typeof__(&inflateInit2_) init;
  __typeof__(&inflate) inflate;
  __typeof__(&inflateReset) reset;
  __typeof__(&inflateEnd) end;
} z;
static struct {
  __typeof__(&ZSTD_createDStream) create;
  __typeof__(&ZSTD_DCtx_setParameter) set;
  __typeof__(&ZSTD_decompressStream) step;
  __typeof__(&ZSTD_isError) is_error;
  __typeof__(&ZSTD_freeDStream) release;
} zs;
static struct {
  __typeof__(&BrotliDecoderCreateInstance) create;
  __typeof__(&BrotliDecoderDecompressStream) step;
  __typeof__(&BrotliDecoderDestroyInstance) destroy;
} br;

static char faults[3][300];
static pthread_once_t onces[3] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};

typedef struct {
  const char *name;
  void **place;
} symbol;

static void load(int index, const char *coding, const char *file, const char *package, const symbol *symbols, size_t count) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; library && i < count; i++)
    if (!(*symbols[i].place = dlsym(library, symbols[i].name))) library = NULL;
  if (!library)
    snprintf(faults[index], sizeof faults[index], "bodies in %s need %s, which is not there; install the Debian package %s", coding, file,
             package);
}

#define LOAD(index, coding, file, package, symbols) load(index, coding, file, package, symbols, sizeof symbols / sizeof *symbols)

static void load_zlib(void) {
  const symbol symbols[] = {{"inflateInit2_", (void **)&z.init},
                            {"inflate", (void **)&z.inflate},
                            {"inflateReset", (void **)&z.reset},
                            {"inflateEnd", (void **)&z.end}};
  LOAD(0, "gzip or deflate", "libz.so.1", "zlib1g", symbols);
}

static void load_zstd(void) {
  const symbol symbols[] = {{"ZSTD_createDStream", (void **)&zs.create},
                            {"ZSTD_DCtx_setParameter", (void **)&zs.set},
                            {"ZSTD_decompressStream", (void **)&zs.step},
                            {"ZSTD_isError", (void **)&zs.is_error},
                            {"ZSTD_freeDStream", (void **)&zs.release}};
  LOAD(1, "zstd", "libzstd.so.1", "libzstd1", symbols);
}

static void load_brotli(void) {
  const symbol symbols[] = {{"BrotliDecoderCreateInstance", (void **)&br.create},
                            {"BrotliDecoderDecompressStream", (void **)&br.step},
                            {"BrotliDecoderDestroyInstance", (void **)&br.destroy}};
  LOAD(2, "br", "libbrotlidec.so.1", "libbrotli1", symbols);
}

const char *cdecoders_load(cdecoders_coding coding) {
  int index = coding == CDECODERS_ZSTD ? 1 : coding == CDECODERS_BROTLI ? 2 : 0;
  pthread_once(&onces[index], index == 0 ? load_zlib : index == 1 ? load_zstd : load_brotli);
  return *faults[index] ? faults[index] : NULL;
}

struct cdecoders_stream {
  cdecoders_coding coding;
  int is_started;
  /* True if a whole member was read. Another one may follow. */
  int is_whole;
  z_stream zlib;
  ZSTD_DStream *zstd;
  BrotliDecoderState *brotli;
};

cdecoders_stream *cdecoders_open(cdecoders_coding coding) {
  cdecoders_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  stream->coding = coding;
  if (coding == CDECODERS_ZSTD) {
    stream->zstd = zs.create();
    if (stream->zstd) zs.set(stream->zstd, ZSTD_d_windowLogMax, zstd_window_log);
  } else if (coding == CDECODERS_BROTLI) {
    stream->brotli = br.create(NULL, NULL, NULL);
  }
  if ((coding == CDECODERS_ZSTD && !stream->zstd) || (coding == CDECODERS_BROTLI && !stream->brotli)) {
    free(stream);
    return NULL;
  }
  return stream;
}

/* The first two bytes distinguish a zlib header from a raw deflate stream: clients send both as "deflate". */
static int start_zlib(cdecoders_stream *stream, const unsigned char *input, size_t size) {
  int bits = 15 + 16;
  if (stream->coding == CDECODERS_DEFLATE) {
    int has_header = size >= 2 && (input[0] & 0x0f) == 8 && (input[0] << 8 | input[1]) % 31 == 0;
    bits = has_header ? 15 : -15;
  }
  return z.init(&stream->zlib, bits, ZLIB_VERSION, sizeof(z_stream)) == Z_OK;
}

static cdecoders_state step_zlib(cdecoders_stream *stream, const unsigned char **input, size_t *input_size, unsigned char **output,
                                 size_t *output_size) {
  if (!stream->is_started) {
    if (!start_zlib(stream, *input, *input_size)) return CDECODERS_BROKEN;
    stream->is_started = 1;
  }
  if (stream->is_whole) {
    if (!*input_size) return CDECODERS_END;
    /* Only gzip allows several members in one body. */
    if (stream->coding != CDECODERS_GZIP || z.reset(&stream->zlib) != Z_OK) return CDECODERS_BROKEN;
    stream->is_whole = 0;
  }
  const size_t most = 1u << 30;
  uInt given = *input_size < most ? *input_size : most, room = *output_size < most ? *output_size : most;
  stream->zlib.next_in = (unsigned char *)*input;
  stream->zlib.avail_in = given;
  stream->zlib.next_out = *output;
  stream->zlib.avail_out = room;
  int result = z.inflate(&stream->zlib, Z_NO_FLUSH);
  size_t taken = given - stream->zlib.avail_in, made = room - stream->zlib.avail_out;
  *input += taken;
  *input_size -= taken;
  *output += made;
  *output_size -= made;
  if (result == Z_STREAM_END) {
    stream->is_whole = 1;
    return *input_size ? CDECODERS_MORE : CDECODERS_END;
  }
  return result == Z_OK || (result == Z_BUF_ERROR && !room) ? CDECODERS_MORE : CDECODERS_BROKEN;
}

static cdecoders_state step_zstd(cdecoders_stream *stream, const unsigned char **input, size_t *input_size, unsigned char **output,
                                 size_t *output_size) {
  ZSTD_inBuffer in = {*input, *input_size, 0};
  ZSTD_outBuffer out = {*output, *output_size, 0};
  size_t result = zs.step(stream->zstd, &out, &in);
  *input += in.pos;
  *input_size -= in.pos;
  *output += out.pos;
  *output_size -= out.pos;
  if (zs.is_error(result)) return CDECODERS_BROKEN;
  return result == 0 && !*input_size ? CDECODERS_END : CDECODERS_MORE;
}

static cdecoders_state step_brotli(cdecoders_stream *stream, const unsigned char **input, size_t *input_size, unsigned char **output,
                                   size_t *output_size) {
  BrotliDecoderResult result = br.step(stream->brotli, input_size, input, output_size, output, NULL);
  if (result == BROTLI_DECODER_RESULT_ERROR) return CDECODERS_BROKEN;
  if (result == BROTLI_DECODER_RESULT_SUCCESS) return *input_size ? CDECODERS_BROKEN : CDECODERS_END;
  return CDECODERS_MORE;
}

cdecoders_state cdecoders_step(cdecoders_stream *stream, const unsigned char **input, size_t *input_size, unsigned char **output,
                               size_t *output_size) {
  switch (stream->coding) {
  case CDECODERS_ZSTD: return step_zstd(stream, input, input_size, output, output_size);
  case CDECODERS_BROTLI: return step_brotli(stream, input, input_size, output, output_size);
  default: return step_zlib(stream, input, input_size, output, output_size);
  }
}

void cdecoders_close(cdecoders_stream *stream) {
  if (stream->is_started) z.end(&stream->zlib);
  if (stream->zstd) zs.release(stream->zstd);
  if (stream->brotli) br.destroy(stream->brotli);
  free(stream);
}
