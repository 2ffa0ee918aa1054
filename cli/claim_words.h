// A job's claim of workers, in a table's cell: "priority 2, weight 3, 1 to 4 workers".
#pragma once

#include <string>

#include "fmt/format.h"

namespace headrace {

// "-": nothing was said.
inline std::string ClaimWords(double weight, int priority, double least, double most) {
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : ", ") + word; };
  if (priority != 0) add(fmt::format("priority {}", priority));
  if (weight != 1) add(fmt::format("weight {:g}", weight));
  if (least > 0 && most > 0) {
    add(fmt::format("{:g} to {:g} workers", least, most));
  } else if (least > 0) {
    add(fmt::format("at least {:g} workers", least));
  } else if (most > 0) {
    add(fmt::format("at most {:g} workers", most));
  }
  return words.empty() ? "-" : words;
}

}  // namespace headrace
