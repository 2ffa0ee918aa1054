// Any bytes: a saved state is refused or becomes a set that says the same when it is written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "element/delivered_set.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  v1::DeliveredSet encoded;
  if (!encoded.ParseFromArray(data, static_cast<int>(size))) return 0;
  // Memory by `repeat` is bounded (kMostSplits), but not to a fuzzer's taste.
  for (const v1::SplitSpan& span : encoded.prefixes()) {
    if (span.repeat() > 10'000) return 0;
  }
  for (const v1::SplitSpan& span : encoded.needs()) {
    if (span.repeat() > 10'000) return 0;
  }
  DeliveredSet set;
  if (!set.Merge(encoded).ok()) return 0;
  DeliveredSet again;
  if (!again.Merge(set.Encode()).ok()) std::abort();
  if (again.records() != set.records()) std::abort();
  if (again.Encode().SerializeAsString() != set.Encode().SerializeAsString()) std::abort();
  return 0;
}
