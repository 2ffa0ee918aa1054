// Strong integer ids: two of different kinds cannot be swapped. Zero is "none" for every kind.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <utility>

namespace headrace {

template <typename Tag>
struct Id {
  uint64_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
  constexpr explicit operator bool() const { return value != 0; }

  template <typename H>
  friend H AbslHashValue(H h, const Id& id) {
    return H::combine(std::move(h), id.value);
  }
};

using DatasetId = Id<struct DatasetTag>;
using JobId = Id<struct JobTag>;
using TaskId = Id<struct TaskTag>;  // one worker's part of one epoch of one job
using WorkerId = Id<struct WorkerTag>;
using ClientId = Id<struct ClientTag>;
using LeaseNumber = Id<struct LeaseTag>;  // only grows within a dispatcher's life and its journal's

}  // namespace headrace

template <typename Tag>
struct std::hash<headrace::Id<Tag>> {
  size_t operator()(const headrace::Id<Tag>& id) const noexcept {
    return std::hash<uint64_t>()(id.value);
  }
};
