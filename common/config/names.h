// The keys of a spec, flattened: their dotted paths and environment names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/config/config.h"

namespace headrace {

// A field with the sections around it, outermost first. Points into the spec.
struct ConfigLeaf {
  std::string path;
  const ConfigNode* node = nullptr;
  std::vector<const ConfigNode*> sections;

  // The struct that owns the field, from the whole config.
  void* Owner(void* config) const {
    for (const ConfigNode* section : sections) config = section->locate(config);
    return config;
  }
};

std::vector<ConfigLeaf> Leaves(const ConfigNode& root);

// "cache" + "memory" -> "cache.memory"
std::string JoinedPath(std::string_view section, std::string_view name);

// "worker" + "cache.memory" -> "HEADRACE_WORKER_CACHE_MEMORY"
std::string EnvironmentName(std::string_view root, std::string_view path);

}  // namespace headrace
