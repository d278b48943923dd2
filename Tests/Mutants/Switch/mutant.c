#include "mutant.h"

#include <stdlib.h>

uint32_t switchyard_mutant_chosen = 0;

/// Stores the number of the chosen bug: the FNV-1a hash of its name, as in the script.
__attribute__((constructor)) static void choose(void) {
    const char *name = getenv("SWITCHYARD_MUTANT");
    if (!name || !*name) { return; }
    uint32_t hash = 2166136261u;
    for (; *name; name++) { hash = (hash ^ (unsigned char)*name) * 16777619u; }
    switchyard_mutant_chosen = hash;
}
