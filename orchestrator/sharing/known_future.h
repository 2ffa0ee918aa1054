// Eviction by known future: seeds, leases and registered jobs say when each item is needed again,
// so what is needed last goes first, and what would be needed later than anything cached is not
// admitted. And who benefits: a byte is worth the trainer seconds that it saves. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace headrace::orchestrate {

// One reader of the item's dataset, and where the item stands in its orders.
struct ItemReader {
  double items_per_second = 0;  // of the reader
  bool read = false;            // in the running epoch
  double ahead = 0;             // !read: items that it reads before this one in the running epoch
  double left_in_epoch = 0;     // read: items that the running epoch has left
  double next_epoch_ahead = 0;  // read: items before it in the next; half of them where unknown
  bool last_epoch = false;      // no next epoch
};

// Seconds until any reader needs it; infinite if none will.
double SecondsUntilNeeded(std::span<const ItemReader> readers);

struct EvictionChoice {
  bool admit = false;
  std::optional<size_t> victim;  // its place in `cached`; nullopt: there is room
};
// `cached`: seconds until each cached item (or of a sample of them) is needed. The incoming one is
// admitted if something cached is needed later than it, by more than `margin` of it.
EvictionChoice ChooseVictim(std::span<const double> cached, double incoming, bool has_room,
                            double margin = 0);

// Trainer seconds saved by a cached byte per second of its being there: how densely a job uses the
// budget. From its own stall and speed: a trainer that does not wait gains nothing.
struct BenefitQuestion {
  double stall = 0;  // share of trainer time spent waiting
  double full_bytes_per_second = 0;
  double dataset_bytes = 0;
  double weight = 1;
};
double BenefitPerByte(const BenefitQuestion& question);

}  // namespace headrace::orchestrate
