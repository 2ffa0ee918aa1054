// Class numbers as one_hot, mixup and cutmix read them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "common/status.h"
#include "element/block.h"
#include "element/numeric.h"

namespace headrace {

inline constexpr int64_t kMaxClasses = int64_t{1} << 24;

inline bool IsInteger(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kUInt64; }

inline absl::Status CheckNumClasses(int64_t num_classes) {
  if (num_classes >= 1 && num_classes <= kMaxClasses) return absl::OkStatus();
  return InvalidArgument("num_classes: expected 1 to {}, got {}", kMaxClasses, num_classes);
}

// Calls use(item, class) for each of the cell's numbers, whose type is an integer one.
// INVALID_ARGUMENT for the first number that is no class.
template <typename Use>
absl::Status ForEachClass(const Cell& cell, DType dtype, int64_t num_classes, Use use) {
  return VisitNumeric(dtype, [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      int64_t item = 0;
      for (T x : cell.as<T>()) {
        if (std::cmp_less(x, 0) || std::cmp_greater_equal(x, num_classes)) {
          return InvalidArgument("item {} is {}, which is no class: num_classes is {}, so 0 to {}",
                                 item, x, num_classes, num_classes - 1);
        }
        use(item++, static_cast<int64_t>(x));
      }
      return absl::OkStatus();
    }
    return Internal("class numbers of {}", Name(dtype));
  });
}

}  // namespace headrace
