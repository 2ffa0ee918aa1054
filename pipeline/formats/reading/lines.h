// Records that are lines: what the text and jsonl formats share.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/formats/format.h"

namespace headrace {

// Cuts an uncompressed file behind newlines, about every target_bytes.
absl::StatusOr<std::vector<v1::Split>> LineSplits(FileSystem& files, const FileInfo& file,
                                                  const SplitOptions& options);

// One bytes cell per line, without its \n or \r\n. A byte order mark at the start of the file is
// passed over. `skip_blank`: lines of nothing but spaces and tabs are settled without output; their
// index stays theirs.
absl::StatusOr<std::unique_ptr<RecordReader>> OpenLines(FileSystem& files, const v1::Split& split,
                                                        bool skip_blank);

}  // namespace headrace
