#include "pipeline/formats/writers/example_encoder.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

#include "common/status.h"

namespace headrace {
namespace {

template <typename T>
absl::Status AddIntegers(std::span<const T> values, std::string_view name, v1::Int64List& out) {
  out.mutable_value()->Reserve(static_cast<int>(values.size()));
  for (T value : values) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return InvalidArgument("field '{}': {} is larger than an Example's int64 can be", name,
                               value);
      }
    }
    out.add_value(static_cast<int64_t>(value));
  }
  return absl::OkStatus();
}

}  // namespace

v1::Feature& ExampleEncoder::Feature(std::string_view name) {
  v1::Feature& feature = (*example_.mutable_features()->mutable_feature())[std::string(name)];
  feature.Clear();
  return feature;
}

void ExampleEncoder::AddBytes(std::string_view name, std::span<const std::string_view> values) {
  v1::BytesList& list = *Feature(name).mutable_bytes_list();
  for (std::string_view value : values) list.add_value(value.data(), value.size());
}

void ExampleEncoder::AddInt64(std::string_view name, std::span<const int64_t> values) {
  Feature(name).mutable_int64_list()->mutable_value()->Add(values.begin(), values.end());
}

void ExampleEncoder::AddFloat(std::string_view name, std::span<const float> values) {
  Feature(name).mutable_float_list()->mutable_value()->Add(values.begin(), values.end());
}

absl::Status ExampleEncoder::AddCell(const Field& field, const Cell& cell) {
  v1::Feature& feature = Feature(field.name);
  const auto integers = [&]<typename T>(T) {
    return AddIntegers<T>(cell.as<T>(), field.name, *feature.mutable_int64_list());
  };
  switch (field.dtype) {
    case DType::kBytes: {
      v1::BytesList& list = *feature.mutable_bytes_list();
      const auto items = static_cast<size_t>(cell.shape.items());
      for (size_t i = 0; i < items; ++i)
        list.add_value(cell.string(i).data(), cell.string(i).size());
      return absl::OkStatus();
    }
    case DType::kFloat32:
      AddFloat(field.name, cell.as<float>());
      return absl::OkStatus();
    case DType::kFloat64:
      for (double value : cell.as<double>())
        feature.mutable_float_list()->add_value(static_cast<float>(value));
      return absl::OkStatus();
    case DType::kBool:
    case DType::kUInt8:
      return integers(uint8_t{});
    case DType::kInt8:
      return integers(int8_t{});
    case DType::kInt16:
      return integers(int16_t{});
    case DType::kInt32:
      return integers(int32_t{});
    case DType::kInt64:
      return integers(int64_t{});
    case DType::kUInt16:
      return integers(uint16_t{});
    case DType::kUInt32:
      return integers(uint32_t{});
    case DType::kUInt64:
      return integers(uint64_t{});
    default:
      return InvalidArgument("field '{}': an Example cannot hold {}; cast it to float32 first",
                             field.name, Name(field.dtype));
  }
}

absl::StatusOr<std::string> ExampleEncoder::Take() {
  if (const size_t bytes = example_.ByteSizeLong(); bytes > std::numeric_limits<int32_t>::max()) {
    example_.Clear();
    return OutOfRange("an Example of {} bytes is over the 2 GiB that its readers take", bytes);
  }
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    example_.SerializeToCodedStream(&coded);
  }
  example_.Clear();
  return out;
}

absl::StatusOr<std::string> EncodeExample(const Schema& schema, std::span<const Cell> cells) {
  ExampleEncoder encoder;
  for (size_t i = 0; i < schema.size(); ++i)
    HR_RETURN_IF_ERROR(encoder.AddCell(schema[i], cells[i]));
  return encoder.Take();
}

}  // namespace headrace
