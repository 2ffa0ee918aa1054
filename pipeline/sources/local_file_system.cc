#include "pipeline/sources/file_system.h"
