// The `log` section that every role's config has.
#pragma once

#include "common/config/config.h"
#include "common/logging/logging.h"

namespace headrace {

ConfigSpec<LoggingConfig> LogSection();

}  // namespace headrace
