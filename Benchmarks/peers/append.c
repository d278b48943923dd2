// The minimal disk work for events that survive a power loss: appends standard input to a file in pieces of BYTES bytes, and calls
// fdatasync after each piece.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: append FILE BYTES <input\n"), 64;
  size_t size = strtoul(argv[2], NULL, 10);
  char *piece = malloc(size);
  int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || !piece) return perror(argv[1]), 69;
  for (;;) {
    size_t held = 0;
    while (held < size) {
      ssize_t n = read(0, piece + held, size - held);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return perror("read"), 69;
      if (n == 0) break;
      held += n;
    }
    if (held == 0) return close(file);
    for (size_t done = 0; done < held;) {
      ssize_t n = write(file, piece + done, held - done);
      if (n < 0) return perror("write"), 69;
      done += n;
    }
    if (fdatasync(file) != 0) return perror("fdatasync"), 69;
  }
}
