// Which splits to lease next, so that what is cached is read while it is: within a bounded
// look-ahead, those that the asking worker has cached first, then those that another has, then cold
// ones. The bound keeps an epoch from beginning with all that is cached and ending with all that is
// not. Each split is still leased once. Pure functions; the dispatcher calls them under its own
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::orchestrate {

// How many times what is needed is looked through: min(10, ceil(1 / max(h, .1))).
size_t LookAhead(double hit_ratio);

enum class Residence : uint8_t { kHere, kElsewhere, kCold };

// Of `next`, the epoch's unleased splits in its own order, the places of the `need` to lease now,
// in the order of `next`. Looks at the first look_ahead * need of them: those that are passed over
// soon fill it, and are taken.
struct LookAheadQuestion {
  std::span<const Residence> next;
  size_t need = 0;
  size_t look_ahead = 1;  // LookAhead(hit ratio)
};
std::vector<size_t> ChooseLeases(const LookAheadQuestion& question);

// How evenly cached items are spread over an epoch's batches: the variance of a batch's cached
// share over what chance alone would give. 1: as a shuffle; n for batches of n that are all one or
// the other.
double BatchMixing(std::span<const uint8_t> cached_in_reading_order, size_t batch);

}  // namespace headrace::orchestrate
