#include "tests/sim/truth.h"

#include "fmt/format.h"

namespace headrace::sim {
namespace {

std::string Name(uint64_t epoch, const RecordId& e) {
  return fmt::format("epoch {} split {} record {} part {}/{} pass {}", epoch, e.split, e.index,
                     e.part, e.parts, e.pass);
}

}  // namespace

void Truth::Deliver(uint64_t epoch, const RecordId& element) {
  if (delivered_.insert({epoch, element}).second || history_.sharding == v1::SHARDING_OFF) return;
  doubled_.insert({epoch, element});
  // A lost client learns of it later than others get its records again.
  if (history_.MayDouble()) return;
  if (failure_.empty()) failure_ = "DOUBLED " + Name(epoch, element);
}

void Truth::Drop(uint64_t epoch, const RecordId& element) { dropped_.insert({epoch, element}); }

std::vector<RecordId> Truth::Expected() const {
  std::vector<RecordId> expected;
  for (uint32_t pass = 0; pass < history_.passes; ++pass) {
    for (uint64_t split = 0; split < history_.splits; ++split) {
      for (uint64_t record = 0; record < RecordsOf(history_, split); ++record) {
        if (Filtered(history_, split, record) || Failing(history_, split, record)) continue;
        const uint32_t parts = PartsOf(history_, split, record);
        for (uint32_t part = 0; part < parts; ++part) {
          expected.push_back({split, record, part, parts, pass});
        }
      }
    }
  }
  return expected;
}

std::string Truth::Verdict() const {
  for (const auto& [epoch, element] : doubled_) {
    if (!lost_.contains({epoch, element})) return "DOUBLED " + Name(epoch, element);
  }
  const std::vector<RecordId> expected = Expected();
  for (uint64_t epoch = 0; epoch < history_.epochs; ++epoch) {
    uint64_t count = 0;
    for (const RecordId& element : expected) {
      const bool there = delivered_.contains({epoch, element});
      count += there ? 1 : 0;
      if (there || history_.take != 0 || dropped_.contains({epoch, element})) continue;
      return "MISSING " + Name(epoch, element);
    }
    const uint64_t wanted = std::min<uint64_t>(history_.take, expected.size());
    if (history_.take != 0 && count != wanted) {
      return fmt::format("TAKE of epoch {}: {} delivered, {} wanted", epoch, count, wanted);
    }
  }
  return "";
}

}  // namespace headrace::sim
