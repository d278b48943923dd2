/* The module table.c with code that runs when it is loaded (-DIN_CONSTRUCTOR) or when it is described (-DIN_DESCRIBE). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "table.c"

#ifdef IN_CONSTRUCTOR
__attribute__((constructor)) static void when_loaded(void) { IN_CONSTRUCTOR; }
#endif
