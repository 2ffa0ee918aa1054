// What ended without output (settled runs, failures) on its way past a stateful step. A step that
// keeps rows for a later block must not keep the ends of their blocks: they go out with the next
// block that it emits, at the latest when the call returns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "element/block.h"
#include "fmt/core.h"

namespace headrace {

// How messages name a row's (first) record.
inline std::string RecordName(const Provenance& provenance) {
  if (provenance.empty()) return "a record";
  return fmt::format("record {} of split {}", provenance[0].first, provenance[0].split);
}

class Ends {
 public:
  bool empty() const { return settled_.empty() && failures_.empty(); }

  // Takes the ends of `block` over.
  void TakeFrom(Block& block) {
    Append(block.settled(), settled_);
    Append(block.failures(), failures_);
  }
  // Hands everything to `block`.
  void GiveTo(Block& block) {
    Append(settled_, block.settled());
    Append(failures_, block.failures());
  }

  // A row that leaves the stream here.
  void Settle(const Provenance& provenance) {
    for (const Run& run : provenance) AppendRun(settled_, run);
  }
  void Fail(const Provenance& provenance, absl::Status status) {
    uint64_t records = 0;
    for (const Run& run : provenance) records += run.count;
    const Run first = provenance.empty() ? Run{} : provenance.front();
    failures_.push_back({.record = first, .status = std::move(status), .records = records});
    Settle(provenance);
  }

 private:
  template <typename T>
  static void Append(std::vector<T>& from, std::vector<T>& to) {
    if (to.empty()) {
      to.swap(from);
      return;
    }
    for (T& value : from) to.push_back(std::move(value));
    from.clear();
  }

  std::vector<Run> settled_;
  std::vector<RowFailure> failures_;
};

}  // namespace headrace
