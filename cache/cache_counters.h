// What the tiers count, for /metrics. Added to by any thread, read by the beat loop.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"

namespace headrace {

// Why an entry that was there is gone.
enum class CacheDrop : uint8_t {
  kEvicted,     // for another's sake
  kStale,       // its file has another version now
  kDamaged,     // a checksum is wrong
  kTorn,        // it ends too early: its writer was killed
  kForeign,     // it holds something else than its name says
  kVersion,     // another version of Headrace wrote it
  kUnreadable,  // the device gave an error
  kCount,
};
constexpr std::string_view Name(CacheDrop reason) {
  constexpr std::array<std::string_view, static_cast<size_t>(CacheDrop::kCount)> kNames = {
      "evicted", "stale", "damaged", "torn", "foreign", "version", "unreadable"};
  return kNames[static_cast<size_t>(reason)];
}

// Why a fill did not become an entry.
enum class FillDrop : uint8_t {
  kNoRoom,      // the budget
  kDiskFull,    // the file system: bytes or inodes
  kSlow,        // the device did not keep up
  kError,       // the device gave an error
  kIncomplete,  // a record failed, the task ended, or the file changed
  kCount,
};
constexpr std::string_view Name(FillDrop reason) {
  constexpr std::array<std::string_view, static_cast<size_t>(FillDrop::kCount)> kNames = {
      "no_room", "disk_full", "slow", "error", "incomplete"};
  return kNames[static_cast<size_t>(reason)];
}

struct TierCounters {
  std::atomic<uint64_t> hits{0};  // splits that were read from it
  std::atomic<uint64_t> read_bytes{0};
  std::atomic<uint64_t> fills{0};  // entries made
  std::atomic<uint64_t> filled_bytes{0};
  // That reads and writes took on a device, those that went on at once added up.
  std::atomic<uint64_t> read_nanos{0};
  std::atomic<uint64_t> fill_nanos{0};
  std::array<std::atomic<uint64_t>, static_cast<size_t>(CacheDrop::kCount)> drops{};
  std::array<std::atomic<uint64_t>, static_cast<size_t>(FillDrop::kCount)> fill_drops{};

  static void Add(std::atomic<uint64_t>& counter, uint64_t n = 1) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  static void Add(std::atomic<uint64_t>& counter, absl::Duration time) {
    Add(counter, static_cast<uint64_t>(absl::ToInt64Nanoseconds(time)));
  }
  void Dropped(CacheDrop reason) { Add(drops[static_cast<size_t>(reason)]); }
  void FillDropped(FillDrop reason) { Add(fill_drops[static_cast<size_t>(reason)]); }
  uint64_t dropped(CacheDrop reason) const { return drops[static_cast<size_t>(reason)]; }
  uint64_t fill_dropped(FillDrop reason) const { return fill_drops[static_cast<size_t>(reason)]; }
};

struct TierUse {
  uint64_t bytes = 0;  // claimed, fills under way included
  uint64_t limit = 0;
  uint64_t entries = 0;
};

}  // namespace headrace
