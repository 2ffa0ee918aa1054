#include "element/schema_proto.h"

#include "common/status.h"

namespace headrace {

v1::SchemaDef SchemaToDef(const Schema& schema) {
  v1::SchemaDef def;
  for (const Field& field : schema.fields()) {
    v1::FieldDef* out = def.add_fields();
    out->set_name(field.name);
    out->set_dtype(static_cast<uint32_t>(field.dtype));
    out->set_unknown_rank(!field.shape.has_rank());
    for (int64_t dim : field.shape.dims()) out->add_dims(dim);
  }
  return def;
}

absl::StatusOr<Schema> SchemaFromDef(const v1::SchemaDef& def) {
  Schema schema;
  for (const v1::FieldDef& field : def.fields()) {
    if (field.dtype() == 0 || field.dtype() > static_cast<uint32_t>(DType::kBytes)) {
      return InvalidArgument("field '{}' has dtype number {}, which this version does not know",
                             field.name(), field.dtype());
    }
    if (static_cast<size_t>(field.dims_size()) > Shape::kMaxRank) {
      return InvalidArgument("field '{}' has {} dimensions; at most {} are supported", field.name(),
                             field.dims_size(), Shape::kMaxRank);
    }
    for (int64_t dim : field.dims()) {
      if (dim < Shape::kDynamic)
        return InvalidArgument("field '{}' has dimension {}", field.name(), dim);
    }
    const std::span<const int64_t> dims(field.dims().data(),
                                        static_cast<size_t>(field.dims_size()));
    schema.Add({field.name(), static_cast<DType>(field.dtype()),
                field.unknown_rank() ? Shape::Unknown() : Shape(dims)});
  }
  return schema;
}

}  // namespace headrace
