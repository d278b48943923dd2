#include "ctls.h"
#include "ccrypto.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Each function with the name of its library's symbol. */
#define SSL_FUNCTIONS(X)                                                                                                                   \
  X(SSL_CTX_new) X(SSL_CTX_free) X(TLS_server_method) X(SSL_CTX_ctrl) X(SSL_CTX_set_options) X(SSL_CTX_use_certificate)                   \
  X(SSL_CTX_use_PrivateKey) X(SSL_CTX_check_private_key) X(SSL_CTX_get_cert_store) X(SSL_CTX_add_client_CA) X(SSL_CTX_set_verify)         \
  X(SSL_CTX_set_num_tickets) X(SSL_new) X(SSL_free) X(SSL_set_fd) X(SSL_set_accept_state) X(SSL_read) X(SSL_write) X(SSL_shutdown)        \
  X(SSL_get_error) X(SSL_get_verify_result) X(SSL_get1_peer_certificate) X(SSL_set_ex_data) X(SSL_get_ex_data)                            \
  X(SSL_get_ex_data_X509_STORE_CTX_idx) X(SSL_is_init_finished)
#define CRYPTO_FUNCTIONS(X)                                                                                                                \
  X(BIO_new_mem_buf) X(BIO_free) X(PEM_read_bio_X509) X(PEM_read_bio_PrivateKey) X(X509_free) X(EVP_PKEY_free) X(X509_STORE_add_cert)     \
  X(X509_STORE_CTX_get_ex_data) X(ERR_clear_error) X(ERR_get_error) X(ERR_error_string_n)

static struct {
#define DECLARE(name) __typeof__(&name) name;
  SSL_FUNCTIONS(DECLARE)
  CRYPTO_FUNCTIONS(DECLARE)
#undef DECLARE
} lib;
static char missing[300];

static void *opened(const char *name) {
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    snprintf(missing, sizeof missing, "TLS needs libssl, which cannot be loaded (%s); install the Debian package libssl%s", dlerror(),
             TEXT(OPENSSL_SHLIB_VERSION));
  return handle;
}

static void load(void) {
  void *ssl = opened("libssl.so." TEXT(OPENSSL_SHLIB_VERSION));
  void *crypto = ssl ? opened("libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION)) : NULL;
  if (!crypto) return;
  crypto_stay();
#define FIND(handle, name)                                                                                                                 \
  if (!(*(void **)&lib.name = dlsym(handle, #name))) snprintf(missing, sizeof missing, "the installed libssl lacks " #name);
#define FIND_SSL(name) FIND(ssl, name)
#define FIND_CRYPTO(name) FIND(crypto, name)
  SSL_FUNCTIONS(FIND_SSL)
  CRYPTO_FUNCTIONS(FIND_CRYPTO)
}

struct ctls_server {
  SSL_CTX *context;
};

struct ctls_session {
  SSL *ssl;
  /* The client presented a certificate that no authority verifies. */
  int is_untrusted;
  /* After a fatal error the session must not be used any more. */
  int has_failed;
};

/* A client with a wrong certificate is served, so that it gets an answer that says what is wrong. */
static int verified(int is_good, X509_STORE_CTX *chain) {
  SSL *ssl = lib.X509_STORE_CTX_get_ex_data(chain, lib.SSL_get_ex_data_X509_STORE_CTX_idx());
  struct ctls_session *session = ssl ? lib.SSL_get_ex_data(ssl, 0) : NULL;
  if (!is_good && session) session->is_untrusted = 1;
  return 1;
}

/* Writes the message and libssl's reason into `why`. */
static void explain(const char *what, char *why, size_t why_size) {
  char reason[160] = "";
  unsigned long code = lib.ERR_get_error();
  if (code) lib.ERR_error_string_n(code, reason, sizeof reason);
  snprintf(why, why_size, "%s%s%s", what, code ? ": " : "", reason);
}

/* Calls `use` with each certificate of the text. Returns their number, or -1 if one cannot be used. */
static int each_certificate(const char *text, int (*use)(SSL_CTX *, X509 *, int), SSL_CTX *context) {
  BIO *source = lib.BIO_new_mem_buf(text, -1);
  int count = 0, is_good = source != NULL;
  X509 *certificate;
  while (is_good && (certificate = lib.PEM_read_bio_X509(source, NULL, NULL, NULL))) {
    is_good = use(context, certificate, count++);
    lib.X509_free(certificate);
  }
  if (source) lib.BIO_free(source);
  return is_good ? count : -1;
}

static int use_own(SSL_CTX *context, X509 *certificate, int index) {
  if (index == 0) return lib.SSL_CTX_use_certificate(context, certificate) == 1;
  return (int)lib.SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, certificate) == 1;
}

static int use_authority(SSL_CTX *context, X509 *certificate, int index) {
  (void)index;
  return lib.X509_STORE_add_cert(lib.SSL_CTX_get_cert_store(context), certificate) == 1 &&
         lib.SSL_CTX_add_client_CA(context, certificate) == 1;
}

/* Without this libcrypto asks at the terminal for the password of an encrypted key. */
static int no_password(char *text, int size, int is_writing, void *context) {
  (void)text, (void)size, (void)is_writing, (void)context;
  return -1;
}

static int use_key(SSL_CTX *context, const char *text) {
  BIO *source = lib.BIO_new_mem_buf(text, -1);
  EVP_PKEY *key = source ? lib.PEM_read_bio_PrivateKey(source, NULL, no_password, NULL) : NULL;
  int is_good = key && lib.SSL_CTX_use_PrivateKey(context, key) == 1 && lib.SSL_CTX_check_private_key(context) == 1;
  if (key) lib.EVP_PKEY_free(key);
  if (source) lib.BIO_free(source);
  return is_good;
}

static const char *configure(SSL_CTX *context, const char *certificate, const char *key, const char *clients) {
  lib.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
  lib.SSL_CTX_ctrl(context, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS,
                   NULL);
  /* A record is read with one system call instead of two. */
  lib.SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, NULL);
  lib.SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  /* Sessions are not resumed, since a resumed one would skip the check of the client's certificate. */
  lib.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
  lib.SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  lib.SSL_CTX_set_num_tickets(context, 0);
  if (each_certificate(certificate, use_own, context) < 1) return "the certificate is not PEM or cannot be used";
  if (!use_key(context, key)) return "the key is not PEM, is encrypted, or does not fit the certificate";
  if (!clients) return NULL;
  if (each_certificate(clients, use_authority, context) < 1) return "the authorities of clients are not PEM or cannot be used";
  lib.SSL_CTX_set_verify(context, SSL_VERIFY_PEER, verified);
  return NULL;
}

ctls_server ctls_server_new(const char *certificate, const char *key, const char *clients, char *why, size_t why_size) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (*missing) {
    snprintf(why, why_size, "%s", missing);
    return NULL;
  }
  lib.ERR_clear_error();
  SSL_CTX *context = lib.SSL_CTX_new(lib.TLS_server_method());
  ctls_server server = context ? calloc(1, sizeof *server) : NULL;
  const char *fault = server ? configure(context, certificate, key, clients) : "there is no memory for TLS";
  if (!fault) {
    /* The end of a list of certificates counts as an error that is not one. */
    lib.ERR_clear_error();
    server->context = context;
    return server;
  }
  explain(fault, why, why_size);
  if (context) lib.SSL_CTX_free(context);
  free(server);
  return NULL;
}

void ctls_server_free(ctls_server server) {
  lib.SSL_CTX_free(server->context);
  free(server);
}

ctls_session ctls_session_new(ctls_server server, int socket) {
  ctls_session session = calloc(1, sizeof *session);
  if (!session) return NULL;
  session->ssl = lib.SSL_new(server->context);
  if (!session->ssl || lib.SSL_set_fd(session->ssl, socket) != 1 || lib.SSL_set_ex_data(session->ssl, 0, session) != 1) {
    if (session->ssl) lib.SSL_free(session->ssl);
    free(session);
    return NULL;
  }
  lib.SSL_set_accept_state(session->ssl);
  return session;
}

void ctls_say_goodbye(ctls_session session) {
  if (session->has_failed || !lib.SSL_is_init_finished(session->ssl)) return;
  lib.ERR_clear_error();
  lib.SSL_shutdown(session->ssl);
}

void ctls_session_free(ctls_session session) {
  lib.SSL_free(session->ssl);
  free(session);
}

static long outcome(ctls_session session, int result) {
  if (result > 0) return result;
  switch (lib.SSL_get_error(session->ssl, result)) {
  case SSL_ERROR_WANT_READ: return CTLS_BLOCKED;
  case SSL_ERROR_WANT_WRITE: return CTLS_BLOCKED_WRITING;
  case SSL_ERROR_ZERO_RETURN: return CTLS_ENDED;
  default: session->has_failed = 1; return CTLS_FAILED;
  }
}

static int bounded(size_t count) { return count > 1 << 30 ? 1 << 30 : (int)count; }

long ctls_read(ctls_session session, void *bytes, size_t count) {
  if (session->has_failed) return CTLS_FAILED;
  lib.ERR_clear_error();
  return outcome(session, lib.SSL_read(session->ssl, bytes, bounded(count)));
}

long ctls_write(ctls_session session, const void *bytes, size_t count) {
  if (session->has_failed) return CTLS_FAILED;
  lib.ERR_clear_error();
  return outcome(session, lib.SSL_write(session->ssl, bytes, bounded(count)));
}

int ctls_is_trusted(ctls_session session) {
  X509 *certificate = lib.SSL_get1_peer_certificate(session->ssl);
  if (certificate) lib.X509_free(certificate);
  return certificate && !session->is_untrusted && lib.SSL_get_verify_result(session->ssl) == X509_V_OK;
}
