// Writes records into one file: what `headrace convert` packs shards with, and tests their
// fixtures. A format that can be written is one file of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/byte_stream.h"

namespace headrace {

struct NamedBytes {
  std::string_view name;
  std::string_view bytes;
};

// Used by one thread, blocking. The file appears at its path with Finish and not before; a writer
// that is destroyed before Finish, or failed, leaves nothing there. After INVALID_ARGUMENT from
// Append it may go on with other records.
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  virtual absl::Status Append(std::string_view key, std::span<const NamedBytes> fields) = 0;
  // Bytes appended so far, framing included, before compression: when to start the next shard.
  virtual uint64_t bytes() const = 0;
  virtual absl::Status Finish() = 0;
};

// A TFRecord file. Each record has one field, whose name and key are not kept: encode several as a
// tf.train.Example (example_encoder.h).
absl::StatusOr<std::unique_ptr<RecordWriter>> NewTfrecordWriter(const std::string& path,
                                                                Codec codec = Codec::kNone);

// A tar archive as webdataset reads it: field "jpg" of record "train/0001" is member
// "train/0001.jpg". Keys and names that would be read back otherwise are refused. Equal records
// give equal archives, byte for byte.
absl::StatusOr<std::unique_ptr<RecordWriter>> NewWebdatasetWriter(const std::string& path,
                                                                  Codec codec = Codec::kNone);

}  // namespace headrace
