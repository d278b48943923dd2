// This target has no code. Each module links it for its linker settings: see module.map.

#include "module_exports.h"
