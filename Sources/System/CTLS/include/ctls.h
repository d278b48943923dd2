/* The server's side of TLS over non-blocking sockets, by libssl. The library is loaded when the first listener with a certificate starts. A
   program without one neither links it nor loads it. */
#pragma once
#include <stddef.h>

typedef struct ctls_server *ctls_server;
typedef struct ctls_session *ctls_session;

/* Makes a server that speaks TLS 1.2 and later. The texts are PEM: the certificate with the intermediate ones, its key, and the authorities
   that sign the certificates of clients, or NULL. Returns NULL and writes a message into `why` if a text cannot be used, or if libssl is
   missing. */
ctls_server ctls_server_new(const char *certificate, const char *key, const char *clients, char *why, size_t why_size);
void ctls_server_free(ctls_server server);

/* Makes the session of a connection. The handshake takes place with the first reads. Returns NULL if there is no memory. */
ctls_session ctls_session_new(ctls_server server, int socket);
/* Tells the client, if possible, that no more bytes follow. */
void ctls_say_goodbye(ctls_session session);
/* Frees the session. The socket stays open. */
void ctls_session_free(ctls_session session);

/* Return the number of bytes, which is more than 0, or one of these. BLOCKED waits for bytes of the client, and BLOCKED_WRITING until the
   socket can be written. Either may come from both functions. */
enum { CTLS_BLOCKED = -1, CTLS_BLOCKED_WRITING = -2, CTLS_ENDED = -3, CTLS_FAILED = -4 };
long ctls_read(ctls_session session, void *bytes, size_t count);
long ctls_write(ctls_session session, const void *bytes, size_t count);

/* Returns 1 if the client presented a certificate that the authorities verify. */
int ctls_is_trusted(ctls_session session);
