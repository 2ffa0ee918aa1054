#include "orchestrator/sharing/look_ahead.h"

#include <algorithm>
#include <cmath>

namespace headrace::orchestrate {

size_t LookAhead(double hit_ratio) {
  const double share = std::max(0.1, std::min(1.0, hit_ratio));
  return static_cast<size_t>(std::min(10.0, std::ceil(1 / share - 1e-9)));
}

std::vector<size_t> ChooseLeases(const LookAheadQuestion& question) {
  const size_t looked = std::min(question.next.size(), question.look_ahead * question.need);
  std::vector<size_t> chosen;
  for (Residence wanted : {Residence::kHere, Residence::kElsewhere, Residence::kCold}) {
    for (size_t i = 0; i < looked && chosen.size() < question.need; ++i) {
      if (question.next[i] == wanted) chosen.push_back(i);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

double BatchMixing(std::span<const uint8_t> cached, size_t batch) {
  const size_t batches = batch > 0 ? cached.size() / batch : 0;
  if (batches < 2) return 1;
  double all = 0, squares = 0;
  for (size_t b = 0; b < batches; ++b) {
    double count = 0;
    for (uint8_t item : cached.subspan(b * batch, batch)) count += item;
    all += count;
    squares += count * count;
  }
  const double n = static_cast<double>(batch), m = static_cast<double>(batches);
  const double share = all / (n * m);
  const double by_chance = n * share * (1 - share);
  if (by_chance <= 0) return 1;
  const double variance = (squares - all * all / m) / (m - 1);
  return variance / by_chance;
}

}  // namespace headrace::orchestrate
