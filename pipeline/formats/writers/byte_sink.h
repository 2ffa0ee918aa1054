// Where writers put their bytes. A sink is finished once, or thrown away: then nothing is left of
// it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/byte_stream.h"

namespace headrace {

// Owned by one writer, used by one thread, blocking. After an error it is of no further use.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Write(std::string_view bytes) = 0;
  virtual absl::Status Finish() = 0;
};

// A local file that is there in whole or not at all: written under a hidden name beside `path`
// (which listings ignore), synced to disk and renamed by Finish. A file that was at `path` is
// replaced. Destroyed before, it leaves nothing.
absl::StatusOr<std::unique_ptr<ByteSink>> NewAtomicFile(const std::string& path);

// Compresses into `sink`: kGzip or kZlib.
absl::StatusOr<std::unique_ptr<ByteSink>> NewCompressingSink(Codec codec,
                                                             std::unique_ptr<ByteSink> sink);

// NewAtomicFile, compressed where `codec` is not kNone.
absl::StatusOr<std::unique_ptr<ByteSink>> NewFileSink(const std::string& path, Codec codec);

}  // namespace headrace
