#include "pipeline/record/json_walk.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "common/status.h"
#include "element/numeric.h"
#include "fmt/format.h"

namespace headrace {
namespace {

using simdjson::error_code;
using simdjson::ondemand::json_type;

template <typename T>
constexpr bool kIsShortFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// One item of a record. NUMBER_OUT_OF_RANGE and INCORRECT_TYPE mean that it is not a T.
template <typename T>
error_code ReadItem(simdjson::ondemand::value value, T& out) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return value.get_string().get(out);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.get_bool().get(out);
  } else if constexpr (std::is_integral_v<T>) {
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> wide = 0;
    const error_code error = std::is_signed_v<T>
                                 ? value.get_int64().get(reinterpret_cast<int64_t&>(wide))
                                 : value.get_uint64().get(reinterpret_cast<uint64_t&>(wide));
    if (error) return error;
    out = static_cast<T>(wide);
    return std::in_range<T>(wide) ? simdjson::SUCCESS : simdjson::NUMBER_OUT_OF_RANGE;
  } else {
    double wide = 0;
    if (const error_code error = value.get_double().get(wide)) return error;
    if constexpr (std::is_same_v<T, Half>) {
      out = ToHalf(ToFloatOdd(wide));
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      out = ToBFloat16(ToFloatOdd(wide));
    } else {
      out = static_cast<T>(wide);
    }
    return simdjson::SUCCESS;
  }
}

// Calls f(TypeTag<T>()) with the type that holds an item of `dtype` while it is read.
template <typename F>
auto VisitItem(DType dtype, F&& f) {
  return dtype == DType::kBytes ? f(TypeTag<std::string_view>()) : VisitNumeric(dtype, f);
}

// Where the cursor stands; the end of the text when it is past it.
template <typename T>
const char* Position(T& value, std::string_view json) {
  const char* at = nullptr;
  return value.current_location().get(at) ? json.data() + json.size() : at;
}

}  // namespace

absl::Status JsonWalk::NotJson(error_code error, const char* at) const {
  const std::string where = at == nullptr ? "" : fmt::format(" at byte {}", at - json_.data());
  return DataLoss("the record is no JSON: {}{} of {}", simdjson::error_message(error), where,
                  json_.size());
}

std::string JsonWalk::Found(const char* at) const {
  const std::string_view rest =
      json_.substr(std::min(static_cast<size_t>(at - json_.data()), json_.size()));
  if (rest.empty()) return "the end";
  switch (rest[0]) {
    case '{':
      return "an object";
    case '[':
      return "an array";
    case '"':
      return "a string";
    default:
      return std::string(rest.substr(0, std::min<size_t>(rest.find_first_of(",]} \t\r\n"), 40)));
  }
}

absl::Status JsonWalk::Unexpected(const JsonParser::Field& field, std::string_view expected,
                                  const char* at) const {
  return InvalidArgument("field '{}': expected {}, found {} at byte {}", field.path, expected,
                         Found(at), at - json_.data());
}

absl::Status JsonWalk::Record(simdjson::ondemand::document& document) {
  const Node& root = parser_.nodes_.front();
  json_type type{};
  if (const error_code error = document.type().get(type))
    return NotJson(error, Position(document, json_));
  if (type == json_type::object) {
    simdjson::ondemand::object object;
    if (const error_code error = document.get_object().get(object))
      return NotJson(error, json_.data());
    HR_RETURN_IF_ERROR(Object(object, root));
  } else if (type == json_type::array) {
    simdjson::ondemand::array array;
    if (const error_code error = document.get_array().get(array))
      return NotJson(error, json_.data());
    HR_RETURN_IF_ERROR(Array(array, root));
  } else {
    return InvalidArgument("the record is {}; expected an object",
                           Found(Position(document, json_)));
  }
  const char* left = nullptr;
  if (document.current_location().get(left) == simdjson::SUCCESS)
    return NotJson(simdjson::TRAILING_CONTENT, left);
  return absl::OkStatus();
}

absl::Status JsonWalk::Object(simdjson::ondemand::object object, const Node& node) {
  for (auto entry : object) {
    simdjson::ondemand::field field;
    std::string_view key;
    error_code error = std::move(entry).get(field);
    if (!error) error = field.unescaped_key().get(key);
    if (error) return NotJson(error, nullptr);
    if (const Node* child = parser_.Child(node, key))
      HR_RETURN_IF_ERROR(Value(field.value(), *child));
  }
  return absl::OkStatus();
}

absl::Status JsonWalk::Array(simdjson::ondemand::array array, const Node& node) {
  size_t index = 0;
  for (auto entry : array) {
    simdjson::ondemand::value value;
    if (const error_code error = std::move(entry).get(value)) return NotJson(error, nullptr);
    if (const Node* child = parser_.Child(node, fmt::format_int(index++).c_str())) {
      HR_RETURN_IF_ERROR(Value(value, *child));
    }
  }
  return absl::OkStatus();
}

absl::Status JsonWalk::Value(simdjson::ondemand::value value, const Node& node) {
  const char* at = Position(value, json_);
  json_type type{};
  if (const error_code error = value.type().get(type)) return NotJson(error, at);
  if (type == json_type::null) {
    bool null = false;
    const error_code error = value.is_null().get(null);
    return error || !null ? NotJson(error ? error : simdjson::N_ATOM_ERROR, at) : absl::OkStatus();
  }
  if (node.field != JsonParser::kNoField) return Leaf(value, node.field);
  error_code error = simdjson::SUCCESS;
  if (type == json_type::object) {
    simdjson::ondemand::object object;
    error = value.get_object().get(object);
    if (!error) return Object(object, node);
  } else if (type == json_type::array) {
    simdjson::ondemand::array array;
    error = value.get_array().get(array);
    if (!error) return Array(array, node);
  } else {
    return InvalidArgument("'{}' is {} at byte {}; expected an object with '{}'", node.path,
                           Found(at), at - json_.data(), node.children[0].first);
  }
  return NotJson(error, at);
}

absl::Status JsonWalk::Leaf(simdjson::ondemand::value value, size_t field) {
  const JsonParser::Field& wanted = parser_.fields_[field];
  state_.found[field] = true;
  return VisitItem(wanted.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (wanted.type.shape.rank() == 0) return Scalar<T>(value, wanted, cells_[field]);
    return ListCell<T>(value, wanted, cells_[field]);
  });
}

template <typename T>
absl::Status JsonWalk::Scalar(simdjson::ondemand::value value, const JsonParser::Field& field,
                              Cell& cell) {
  const char* at = Position(value, json_);
  T item{};
  if (ReadItem(value, item)) return Unexpected(field, field.type.ToString(), at);
  if constexpr (std::is_same_v<T, std::string_view>) {
    cell = MakeBytesCell(arena_, item);
  } else {
    cell = MakeScalarCell<T>(arena_, item);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status JsonWalk::ListCell(simdjson::ondemand::value value, const JsonParser::Field& field,
                                Cell& cell) {
  state_.strings.clear();
  state_.numbers.clear();
  size_t count = 0;
  HR_RETURN_IF_ERROR(List<T>(value, field, 0, count));
  Shape shape = field.type.shape;
  if (field.type.is_list()) shape[0] = static_cast<int64_t>(count);
  if constexpr (std::is_same_v<T, std::string_view>) {
    cell = MakeBytesCell(arena_, state_.strings, shape);
  } else {
    std::byte* data = arena_.AllocatePacked(state_.numbers.size(), alignof(T));
    std::copy(state_.numbers.begin(), state_.numbers.end(), data);
    cell = Cell{data, state_.numbers.size(), shape};
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status JsonWalk::List(simdjson::ondemand::value value, const JsonParser::Field& field,
                            size_t dim, size_t& count) {
  const char* list_at = Position(value, json_);
  simdjson::ondemand::array array;
  if (value.get_array().get(array)) return Unexpected(field, field.type.ToString(), list_at);
  count = 0;
  for (auto entry : array) {
    simdjson::ondemand::value item_value;
    if (const error_code error = std::move(entry).get(item_value)) return NotJson(error, nullptr);
    ++count;
    if (dim + 1 < field.type.shape.rank()) {
      size_t inner = 0;
      HR_RETURN_IF_ERROR(List<T>(item_value, field, dim + 1, inner));
      continue;
    }
    const char* at = Position(item_value, json_);
    T item{};
    if (ReadItem(item_value, item)) return Unexpected(field, Name(field.type.dtype), at);
    if constexpr (std::is_same_v<T, std::string_view>) {
      state_.strings.push_back(item);
    } else {
      const auto* bytes = reinterpret_cast<const std::byte*>(&item);
      state_.numbers.insert(state_.numbers.end(), bytes, bytes + sizeof(T));
    }
  }
  const int64_t wanted = field.type.shape[dim];
  if (wanted == Shape::kDynamic || wanted == static_cast<int64_t>(count)) return absl::OkStatus();
  return InvalidArgument("field '{}': the array at byte {} has {} items where {} takes {}",
                         field.path, list_at - json_.data(), count, field.type.ToString(), wanted);
}

std::string JsonWalk::Keys(simdjson::ondemand::document& document) const {
  constexpr size_t kMaxKeys = 20;
  document.rewind();
  simdjson::ondemand::object object;
  if (document.get_object().get(object)) return "";
  std::string keys;
  size_t count = 0;
  for (auto entry : object) {
    std::string_view key;
    if (entry.unescaped_key().get(key)) break;
    if (++count <= kMaxKeys) keys += fmt::format("{}{}", count > 1 ? ", " : "", key.substr(0, 60));
  }
  return count > kMaxKeys ? keys + fmt::format(", and {} more", count - kMaxKeys) : keys;
}

}  // namespace headrace
