// Reads webdataset's records out of a tar archive: neighbouring members of one base name.
#pragma once

#include <memory>
#include <string_view>

#include "pipeline/formats/format.h"
#include "pipeline/formats/reading/record_buffer.h"
#include "pipeline/sources/byte_stream.h"

namespace headrace {

inline constexpr std::string_view kKeyField = "__key__";

// `schema`: __key__, then the extensions to read (lower case); members with others are passed over.
// `missing_is_empty`: a record without one of the fields gets "" there; otherwise it fails.
std::unique_ptr<RecordReader> NewTarGroupReader(const v1::Split& split, Codec codec,
                                                std::unique_ptr<RecordBuffer> buffer,
                                                SchemaPtr schema, bool missing_is_empty);

}  // namespace headrace
