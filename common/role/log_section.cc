#include "common/role/log_section.h"

namespace headrace {

ConfigSpec<LoggingConfig> LogSection() {
  ConfigSpec<LoggingConfig> spec;
  spec.Field("level", &LoggingConfig::level, "what is logged",
             OneOf({"debug", "info", "warning", "error"}))
      .Field("format", &LoggingConfig::format, "one line each on stderr", OneOf({"text", "json"}));
  return spec;
}

}  // namespace headrace
