#include "orchestrator/sharing/known_future.h"

#include <algorithm>
#include <limits>

namespace headrace::orchestrate {

double SecondsUntilNeeded(std::span<const ItemReader> readers) {
  double soonest = std::numeric_limits<double>::infinity();
  for (const ItemReader& reader : readers) {
    if (reader.items_per_second <= 0 || (reader.read && reader.last_epoch)) continue;
    const double items =
        reader.read ? reader.left_in_epoch + reader.next_epoch_ahead : reader.ahead;
    soonest = std::min(soonest, items / reader.items_per_second);
  }
  return soonest;
}

EvictionChoice ChooseVictim(std::span<const double> cached, double incoming, bool has_room,
                            double margin) {
  if (has_room) return {true, std::nullopt};
  const auto latest = std::max_element(cached.begin(), cached.end());
  if (latest == cached.end() || !(*latest > incoming * (1 + margin))) return {false, std::nullopt};
  return {true, static_cast<size_t>(latest - cached.begin())};
}

double BenefitPerByte(const BenefitQuestion& question) {
  if (question.dataset_bytes <= 0) return 0;
  return question.weight * std::clamp(question.stall, 0.0, 1.0) * question.full_bytes_per_second /
         question.dataset_bytes;
}

}  // namespace headrace::orchestrate
