// What the pipeline language needs to know of a source format. This room may not see the formats
// themselves (pipeline/formats/ depends on it), so their words are handed in.
#pragma once

#include <string>
#include <vector>

#include "pipeline/graph/params.h"

namespace headrace {

struct FormatWords {
  std::string name;
  std::string help;
  std::vector<ParamSpec> params;
  std::vector<std::string> extensions;  // ".tfrecord"
};

}  // namespace headrace
