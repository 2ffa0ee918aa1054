// What the last write to a write-ahead log of RocksDB left behind, looked at before the store is
// opened: RocksDB cuts a torn tail without a word, and what was cut must be said.
//
// A log is blocks of 32 KiB; each holds pieces of records: checksum (4 bytes), length (2), kind (1;
// of kinds 5 to 8 the log's number follows, 4), payload. Only lengths and kinds are looked at here:
// checksums are RocksDB's to judge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace headrace {

struct TornTail {
  std::string path;
  uint64_t offset = 0;  // where the last whole record ends
  uint64_t bytes = 0;   // that are cut, from there on
};

// Of the youngest log of a directory; nothing where it ends with a whole record, or there is none.
absl::StatusOr<std::optional<TornTail>> FindTornTail(const std::string& directory);

}  // namespace headrace
