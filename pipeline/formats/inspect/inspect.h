// Looks through one file: its format, its records, whether they are sound. What `headrace inspect`
// prints and what tests compare. Blocking; reads the whole file, a block at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "element/schema.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/formats/format.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

struct InspectOptions {
  std::string format = {};  // "": by the file's name, else by its first bytes
  v1::ValueMap params = {};
  ReadLimits limits = {};
  size_t max_damaged = 1000;  // damaged records that are listed; all are counted
};

struct DamagedRecord {
  uint64_t index = 0;   // within the file
  uint64_t offset = 0;  // in the file, or in its decompressed bytes
  std::string message;  // path, offset, index, what is wrong and what to do
};

struct InspectReport {
  std::string path;
  std::string format;
  std::string codec;  // "none", "gzip", ...
  Schema schema;
  uint64_t file_bytes = 0;
  uint64_t records = 0;       // sound ones
  uint64_t record_bytes = 0;  // of all fields of the sound records
  uint64_t largest_record = 0;
  uint64_t blank = 0;  // record indices without content (blank lines)
  // What checksums were checked on the way: "records", "headers", "compressed data", joined by "
  // and "; "none".
  std::string checksums;
  uint64_t damaged_count = 0;
  std::vector<DamagedRecord> damaged;  // the first ones
  bool records_lost = false;           // damage hides how many records there were

  bool sound() const { return damaged_count == 0; }
};

// Called after each block; false ends the walk with CANCELLED.
using InspectProgress = absl::FunctionRef<bool(const InspectReport& so_far)>;

// The format of `path`: by the longest known extension, else by the likest first bytes.
// INVALID_ARGUMENT when neither tells.
absl::StatusOr<const FormatSpec*> GuessFormat(FileSystem& files, const FormatRegistry& formats,
                                              const std::string& path);

// Errors are about the file as a whole (gone, no permission, no known format); damage is in the
// report.
absl::StatusOr<InspectReport> InspectFile(FileSystem& files, const FormatRegistry& formats,
                                          const std::string& path, const InspectOptions& options,
                                          InspectProgress progress);
absl::StatusOr<InspectReport> InspectFile(FileSystem& files, const FormatRegistry& formats,
                                          const std::string& path,
                                          const InspectOptions& options = {});

}  // namespace headrace
