// The elements of one lease that were delivered or settled before: not to be sent again. Made once
// per lease, then immutable and shared between its reader and the task's accounts.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "element/provenance.h"
#include "google/protobuf/repeated_field.h"
#include "headrace/v1/frame.pb.h"

namespace headrace {

class SkipSet {
 public:
  SkipSet() = default;
  // Runs of one split and pass, in any order, overlapping ones too. parts 0 or 1: the record is
  // done, in however many parts it was cut; all n parts of a record make it done, too.
  explicit SkipSet(const google::protobuf::RepeatedPtrField<v1::Run>& runs);

  bool empty() const { return whole_.empty() && parts_.empty(); }
  bool has_parts() const { return !parts_.empty(); }

  // The whole record is done. `cursor` makes asking in ascending order cheap: start it at 0 and
  // hand it in again.
  bool HasRecord(uint64_t index, size_t& cursor) const;
  // Of `run`'s elements, how many are in the set.
  uint64_t CountElements(const Run& run) const;
  // Of the records that are not done as a whole: (parts, how many parts are in the set), summed per
  // `parts`.
  std::vector<std::pair<uint32_t, uint64_t>> PartTotals() const;
  // The same for one record; {0, 0} when it has none.
  std::pair<uint32_t, uint64_t> PartsOf(uint64_t index) const;

 private:
  struct Span {
    uint64_t begin;
    uint64_t end;
  };
  struct Part {
    uint64_t index;
    uint32_t parts;
    uint32_t part;
    auto operator<=>(const Part&) const = default;
  };
  void MergeWhole();

  std::vector<Span> whole_;  // ascending, disjoint
  std::vector<Part> parts_;  // ascending, unique, none of a record in whole_
};

}  // namespace headrace
