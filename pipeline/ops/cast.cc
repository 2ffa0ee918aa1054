// cast: another item type for a field. What C does, but checked: a fraction is cut towards zero,
// and a value that the new type cannot hold fails its row instead of wrapping. Float to float
// rounds to nearest even (too large: infinity). To bool: is it other than zero. From bytes: the
// text is read as a decimal number (WebDataset's .cls).
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/status.h"
#include "element/numeric.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct CastParams {
  std::string field;
  std::string dtype;
};

template <typename T>
constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// How an item lies in memory: a bool byte may hold anything, so it is read as a number.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// 16-bit floats as float32, all else as it is.
template <typename T>
auto Wide(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return ToFloat(x);
  } else {
    return x;
  }
}

// False when To cannot hold `x` (a Wide value); `out` is then zero.
template <typename To, typename X>
bool CastItem(X x, Stored<To>& out) {
  if constexpr (std::is_same_v<To, bool>) {
    out = x != X{0} ? 1 : 0;
    return true;
  } else if constexpr (std::is_same_v<To, Half>) {
    out = ToHalf(ToFloatOdd(x));
    return true;
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    out = ToBFloat16(ToFloatOdd(x));
    return true;
  } else if constexpr (std::is_floating_point_v<To>) {
    out = static_cast<To>(x);
    return true;
  } else if constexpr (std::is_floating_point_v<X>) {
    constexpr double kMin = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double kEnd =
        static_cast<double>(std::numeric_limits<To>::max() / 2 + 1) * 2.0;  // exact
    const auto d = static_cast<double>(x);
    const bool fits =
        d < kEnd && (sizeof(To) == 8 && std::is_signed_v<To> ? d >= kMin : d > kMin - 1.0);
    out = fits ? static_cast<To>(x) : To{0};
    return fits;
  } else {
    out = static_cast<To>(x);
    return std::in_range<To>(x);
  }
}

// Casts `items` items; the position of the first that does not fit, or `items`.
using CastItems = size_t (*)(const std::byte* in, size_t items, std::byte* out);

template <typename From, typename To>
size_t CastAll(const std::byte* in_bytes, size_t items, std::byte* out_bytes) {
  const auto* in = reinterpret_cast<const Stored<From>*>(in_bytes);
  auto* out = reinterpret_cast<Stored<To>*>(out_bytes);
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>) {
    ToHalf({in, items}, {out, items});
    return items;
  } else {
    bool fit = true;
    for (size_t i = 0; i < items; ++i) fit &= CastItem<To>(Wide(in[i]), out[i]);
    if (fit) return items;
    size_t i = 0;
    while (CastItem<To>(Wide(in[i]), out[i])) ++i;
    return i;
  }
}

template <typename T>
size_t ParseAll(const Cell& cell, std::byte* out_bytes) {
  auto* out = reinterpret_cast<T*>(out_bytes);
  const auto items = static_cast<size_t>(cell.shape.items());
  size_t i = 0;
  while (i < items && ParseDecimal(cell.string(i), out[i])) ++i;
  return i;
}

class Cast final : public StatelessOp {
 public:
  explicit Cast(CastParams params, DType to) : params_(std::move(params)), to_(to) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    from_ = input[at_].dtype;
    if (to_ == DType::kBytes && from_ != to_) {
      return InvalidArgument("field '{}' is {}; cast makes no bytes of numbers", params_.field,
                             Name(from_));
    }
    if (from_ != DType::kBytes) {
      cast_ = VisitNumeric(from_, [this](auto from) {
        return VisitNumeric(to_, [](auto to) -> CastItems {
          return &CastAll<typename decltype(from)::type, typename decltype(to)::type>;
        });
      });
    }
    Schema out = input;
    out[at_].dtype = to_;
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    if (from_ == to_) return absl::OkStatus();
    std::vector<Cell>& column = block.column(at_);
    const size_t item_bytes = ItemSize(to_);
    for (size_t row = 0; row < column.size(); ++row) {
      Cell& cell = column[row];
      const auto items = static_cast<size_t>(cell.shape.items());
      std::byte* out = block.arena().AllocatePacked(items * item_bytes, item_bytes);
      const size_t done = from_ == DType::kBytes ? Parse(cell, out) : cast_(cell.data, items, out);
      if (done < items) {
        block.Fail(row, DoesNotFit(cell, done));
        continue;
      }
      cell.data = out;
      cell.bytes = items * item_bytes;
    }
    return absl::OkStatus();
  }

 private:
  size_t Parse(const Cell& cell, std::byte* out) const {
    return VisitNumeric(
        to_, [&](auto tag) { return ParseAll<typename decltype(tag)::type>(cell, out); });
  }

  absl::Status DoesNotFit(const Cell& cell, size_t item) const {
    const std::string where = cell.shape.rank() == 0 ? "" : fmt::format(" item {}", item);
    if (from_ == DType::kBytes) {
      const std::string_view text = cell.string(item).substr(0, 60);
      return InvalidArgument("cast: {}{} is the text '{}', which is no {}", params_.field, where,
                             absl::CHexEscape({text.data(), text.size()}), Name(to_));
    }
    return VisitNumeric(from_, [&](auto tag) {
      using T = Stored<typename decltype(tag)::type>;
      return InvalidArgument("cast: {}{} is {}, which does not fit {}", params_.field, where,
                             Wide(cell.as<T>()[item]), Name(to_));
    });
  }

  CastParams params_;
  DType to_;
  DType from_ = DType::kInvalid;
  size_t at_ = 0;
  CastItems cast_ = nullptr;  // numeric to numeric
};

}  // namespace

void Register_cast(OpRegistry& registry) {
  ParamSet<CastParams> params;
  params.Required("field", &CastParams::field, "numeric field, or bytes that hold a decimal number")
      .Required("dtype", &CastParams::dtype,
                "bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32 or float64");
  registry.Add<CastParams>(
      "cast", "Another item type for a field; a value that does not fit fails its row.",
      std::move(params), [](CastParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
        const auto dtype = ParseDType(p.dtype);
        if (!dtype.ok()) return Annotate(dtype.status(), "dtype");
        return std::make_unique<Cast>(std::move(p), *dtype);
      });
}

}  // namespace headrace
