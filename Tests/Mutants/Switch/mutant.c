#include "mutant.h"

#include <stdlib.h>

uint32_t switchyard_mutant_chosen = 0;

/// The name as a number: FNV-1a, as the script has it.
__attribute__((constructor)) static void choose(void) {
    const char *name = getenv("SWITCHYARD_MUTANT");
    if (!name || !*name) { return; }
    uint32_t hash = 2166136261u;
    for (; *name; name++) { hash = (hash ^ (unsigned char)*name) * 16777619u; }
    switchyard_mutant_chosen = hash;
}
