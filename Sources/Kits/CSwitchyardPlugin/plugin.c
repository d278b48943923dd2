#include "switchyard_plugin.h"
#include "switchyard_source.h"
