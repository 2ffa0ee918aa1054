#include "pipeline/record/field_type.h"

#include <vector>

#include "common/status.h"
#include "element/numeric.h"

namespace headrace {
namespace {

// A fixed shape beyond this is a slip of the pen, and its default would be a waste.
constexpr int64_t kMaxItems = int64_t{1} << 30;

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "" for a list, "4", "?, 3".
absl::StatusOr<Shape> ParseDims(std::string_view text) {
  if (Trim(text).empty()) return Shape{Shape::kDynamic};
  std::vector<int64_t> dims;
  int64_t items = 1;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    const std::string_view word = Trim(text.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    int64_t dim = 0;
    if (word == "?" && dims.empty()) {
      dims.push_back(Shape::kDynamic);
      continue;
    }
    if (word == "?") return InvalidArgument("only the first dimension may be ?");
    if (!ParseDecimal(word, dim) || dim < 1)
      return InvalidArgument("dimension '{}' is no positive integer", word);
    if (dim > kMaxItems || (items *= dim) > kMaxItems)
      return InvalidArgument("more than {} items", kMaxItems);
    dims.push_back(dim);
  }
  if (dims.size() > Shape::kMaxRank)
    return InvalidArgument("{} dimensions; at most {}", dims.size(), Shape::kMaxRank);
  return Shape(std::span<const int64_t>(dims));
}

absl::Status CheckDefault(const FieldType& type) {
  const std::string& text = *type.default_text;
  if (type.is_list()) {
    if (text.empty()) return absl::OkStatus();
    return InvalidArgument("the default of a list is the empty list; nothing may follow '='");
  }
  if (type.dtype == DType::kBytes) return absl::OkStatus();
  return VisitNumeric(type.dtype, [&](auto tag) {
    typename decltype(tag)::type value;
    if (ParseDecimal(text, value)) return absl::OkStatus();
    return InvalidArgument("the default '{}' is no {}", text, Name(type.dtype));
  });
}

absl::StatusOr<FieldType> Parse(std::string_view text) {
  FieldType type;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    type.default_text = std::string(text.substr(equals + 1));
    text = text.substr(0, equals);
  }
  text = Trim(text);
  if (const size_t open = text.find('['); open != std::string_view::npos) {
    if (text.back() != ']') return InvalidArgument("the '[' is not closed");
    HR_ASSIGN_OR_RETURN(type.shape, ParseDims(text.substr(open + 1, text.size() - open - 2)));
    text = Trim(text.substr(0, open));
  }
  HR_ASSIGN_OR_RETURN(type.dtype, ParseDType(text));
  if (type.default_text) HR_RETURN_IF_ERROR(CheckDefault(type));
  return type;
}

}  // namespace

std::string FieldType::ToString() const {
  if (shape.rank() == 0) return std::string(Name(dtype));
  if (shape.rank() == 1 && is_list()) return fmt::format("{}[]", Name(dtype));
  return fmt::format("{}{}", Name(dtype), shape.ToString());
}

absl::StatusOr<FieldType> ParseFieldType(std::string_view text) {
  absl::StatusOr<FieldType> type = Parse(text);
  if (!type.ok()) {
    return Annotate(type.status(),
                    fmt::format("type '{}' (like int64, bytes[], float32[4] or int64=0)", text));
  }
  return type;
}

Cell DefaultCell(const FieldType& type, Arena& arena) {
  Shape shape = type.shape;
  if (type.is_list()) shape[0] = 0;
  const auto items = static_cast<size_t>(shape.items());
  if (type.dtype == DType::kBytes) {
    if (shape.rank() == 0) return MakeBytesCell(arena, *type.default_text);
    const std::vector<std::string_view> values(items, *type.default_text);
    return MakeBytesCell(arena, values, shape);
  }
  return VisitNumeric(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value{};
    ParseDecimal(*type.default_text, value);  // an empty list has no value; all else was checked
    std::byte* data = arena.AllocatePacked(items * sizeof(T), alignof(T));
    std::fill_n(reinterpret_cast<T*>(data), items, value);
    return Cell{data, items * sizeof(T), shape};
  });
}

absl::StatusOr<Shape> ShapeOfValues(const FieldType& type, size_t count) {
  const auto n = static_cast<int64_t>(count);
  if (type.shape.rank() == 0) {
    if (count == 1) return Shape();
    return InvalidArgument("has {} values; {} takes one (write {}[] for a list)", count,
                           type.ToString(), Name(type.dtype));
  }
  Shape shape = type.shape;
  if (!type.is_list()) {
    if (shape.items() == n) return shape;
    return InvalidArgument("has {} values; {} takes {}", count, type.ToString(), shape.items());
  }
  shape[0] = 1;
  const int64_t row = shape.items();
  if (n % row != 0)
    return InvalidArgument("has {} values; {} takes a multiple of {}", count, type.ToString(), row);
  shape[0] = n / row;
  return shape;
}

}  // namespace headrace
