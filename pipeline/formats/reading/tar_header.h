// The headers of tar archives: POSIX ustar, pax ('x' and 'g': path and size), GNU long names ('L'),
// base-256 sizes. Knows nothing of where blocks come from: a reader of a stream and a splitter that
// hops from header to header both feed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace headrace {

inline constexpr size_t kTarBlock = 512;

inline uint64_t TarPadded(uint64_t bytes) {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

struct TarMember {
  std::string name;   // raw bytes, whatever their encoding
  uint64_t size = 0;  // bytes of data that follow the header, without padding
  bool regular = false;
  bool sparse = false;  // its data has holes left out: not readable as it stands
};

// Fills `block` (kTarBlock bytes): a ustar header of fixed mode, owner and time, so that equal
// content gives equal archives. `name` has at most 100 bytes; `type` is '0' for a file, 'L' for a
// GNU long name whose text is the data.
void WriteTarHeader(std::string_view name, uint64_t size, char type, std::span<std::byte> block);
inline constexpr size_t kTarNameBytes = 100;

// One archive, front to back. Used by one thread. After an error it is of no further use.
class TarHeaderParser {
 public:
  enum class Step {
    kMember,    // member() is complete; its data follow
    kExtended,  // payload() bytes belong to the header: hand them to Extended(), padding follows
    kEnd,       // a block of zeros: the archive ends here
  };
  // `block`: kTarBlock bytes. DATA_LOSS says what is wrong with it (no path, no offset).
  absl::Status Header(std::span<const std::byte> block, Step& step);
  absl::Status Extended(std::span<const std::byte> payload, Step& step);

  const TarMember& member() const { return member_; }
  size_t payload() const { return payload_; }
  // True when a global header ('g') names members behind it: then no split may start in the middle.
  bool global_names() const { return global_path_.has_value() || global_size_.has_value(); }

 private:
  absl::Status Finish(std::span<const std::byte> block, uint64_t size, char type, Step& step);
  absl::Status ParsePax(std::string_view records, bool global);
  absl::Status PaxRecord(std::string_view key, std::string_view value, bool global);

  TarMember member_;
  char extended_ = 0;  // type of the extended header whose payload comes next
  size_t payload_ = 0;
  // What extended headers said about the next member.
  std::optional<std::string> long_name_;
  std::optional<std::string> pax_path_;
  std::optional<uint64_t> pax_size_;
  bool pax_sparse_ = false;
  std::optional<std::string> global_path_;
  std::optional<uint64_t> global_size_;
};

}  // namespace headrace
