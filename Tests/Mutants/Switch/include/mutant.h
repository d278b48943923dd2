// Says which planted bug is active. Only the code that `Tests/Mutants/mutants` puts into its copy of the sources uses it.
#ifndef SWITCHYARD_MUTANT_H
#define SWITCHYARD_MUTANT_H

#include <stdbool.h>
#include <stdint.h>

/// The number of the bug that SWITCHYARD_MUTANT named when the process or the module was loaded. It is 0 if no bug was named.
extern uint32_t switchyard_mutant_chosen;

static inline bool switchyard_mutant(uint32_t number) { return switchyard_mutant_chosen == number; }

#endif
