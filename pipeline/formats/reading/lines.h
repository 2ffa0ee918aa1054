// Records that are lines: what the text and jsonl formats share.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
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

// True for bytes without NUL that are UTF-8 (the last character may be cut) and not empty.
bool LooksLikeText(std::span<const std::byte> head);

}  // namespace headrace
