#define _GNU_SOURCE
#include "cplatform.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Returns true if the line describes a private mapping of a file that nobody can write, and stores its first address and its end. The lines
   of numbers below each mapping begin with a capital letter. */
static int is_mapping_of_file(const char *line, uintptr_t *first, uintptr_t *end) {
  char *rest;
  *first = strtoul(line, &rest, 16);
  if (*rest != '-') return 0;
  *end = strtoul(rest + 1, &rest, 16);
  return rest[0] == ' ' && rest[1] == 'r' && rest[2] == '-' && rest[4] == 'p' && strchr(rest, '/') != NULL;
}

void cplatform_give_back(void) {
  malloc_trim(0);
  FILE *maps = fopen("/proc/self/smaps", "re");
  if (maps == NULL) return;
  char *line = NULL;
  size_t size = 0;
  uintptr_t first = 0, end = 0;
  while (getline(&line, &size, maps) > 0) {
    if (line[0] < 'A' || line[0] > 'Z') {
      if (!is_mapping_of_file(line, &first, &end)) first = end = 0;
    } else if (end > first && strncmp(line, "Anonymous:", 10) == 0 && strtoul(line + 10, NULL, 10) == 0) {
      /* No page of it differs from the file, so each comes back from the file with the same bytes when it is used again. */
      madvise((void *)first, end - first, MADV_DONTNEED);
    }
  }
  free(line);
  fclose(maps);
}
