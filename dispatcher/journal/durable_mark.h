// The file `durable` of a journal's directory: up to which position events were durable when
// answers left. Written after every commit, made durable itself once in a while: after a power loss
// it may lie behind, it never lies ahead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace headrace {

class DurableMark {
 public:
  DurableMark() = default;
  ~DurableMark();
  DurableMark(const DurableMark&) = delete;
  DurableMark& operator=(const DurableMark&) = delete;

  // Makes the file where it is not. Errors are the system's, and name the path.
  absl::Status Open(const std::string& path);
  // What it says; nothing when it is new, or damaged (`damaged` is then true).
  absl::StatusOr<std::optional<uint64_t>> Read(bool& damaged) const;
  absl::Status Write(uint64_t position);

  const std::string& path() const { return path_; }

 private:
  static constexpr absl::Duration kSyncEvery = absl::Seconds(1);

  std::string path_;
  int fd_ = -1;
  absl::Duration synced_ = -absl::InfiniteDuration();  // when, steady
};

}  // namespace headrace
