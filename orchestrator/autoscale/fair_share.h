// Who gets how much of a fleet that is too small for all: weighted max-min fair within a priority,
// higher priorities first. Pure.
#pragma once

#include <vector>

namespace headrace::orchestrate {

// All in workers' worth of work, fractions included.
struct Claim {
  double need = 0;    // that it can use
  double weight = 1;  // <= 0 counts as 1
  int priority = 0;
  double least = 0;  // kept for it whatever others claim, as far as it needs it
  double most = 0;   // its quota; 0: none
};

// A share for each claim, in their order. None is above its need or its quota, and their sum is not
// above `total`; what is left over, nobody needs.
std::vector<double> FairShares(const std::vector<Claim>& claims, double total);

}  // namespace headrace::orchestrate
