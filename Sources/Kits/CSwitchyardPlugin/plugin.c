#include "switchyard_plugin.h"
