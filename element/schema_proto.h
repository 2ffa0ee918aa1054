// Schema <-> its wire form.
#pragma once

#include "absl/status/statusor.h"
#include "element/schema.h"
#include "headrace/v1/pipeline.pb.h"

namespace headrace {

v1::SchemaDef SchemaToDef(const Schema& schema);
// INVALID_ARGUMENT: a dtype number, rank or dim that this version does not know.
absl::StatusOr<Schema> SchemaFromDef(const v1::SchemaDef& def);

}  // namespace headrace
