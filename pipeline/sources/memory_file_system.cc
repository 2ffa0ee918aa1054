#include "pipeline/sources/memory_file_system.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "common/status.h"
#include "pipeline/sources/glob.h"

namespace headrace {
namespace {

// Whether `names` are what `pattern` stands for, or lie below it.
bool Matches(std::span<const std::string> pattern, std::span<const std::string> names) {
  if (pattern.empty()) {
    return std::none_of(names.begin(), names.end(),
                        [](const std::string& name) { return IsIgnoredName(name); });
  }
  if (pattern[0] == "**") {
    if (Matches(pattern.subspan(1), names)) return true;
    return !names.empty() && !IsIgnoredName(names[0]) && Matches(pattern, names.subspan(1));
  }
  if (names.empty()) return false;
  const bool match = HasWildcard(pattern[0]) ? MatchesComponent(pattern[0], names[0])
                                             : Unescape(pattern[0]) == names[0];
  return match && Matches(pattern.subspan(1), names.subspan(1));
}

}  // namespace

class MemoryFileSystem::File final : public RandomAccessFile {
 public:
  File(std::shared_ptr<const Content> content, MemoryFileSystem& owner)
      : content_(std::move(content)), owner_(owner) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) override {
    const uint64_t size = content_->bytes.size();
    const size_t n = offset >= size ? 0 : std::min<uint64_t>(out.size(), size - offset);
    if (offset + n > content_->fail_from) return content_->failure;
    if (n > 0) std::memcpy(out.data(), content_->bytes.data() + offset, n);
    absl::MutexLock lock(&owner_.mutex_);
    owner_.bytes_read_ += n;
    return n;
  }
  const FileInfo& info() const override { return content_->info; }

 private:
  const std::shared_ptr<const Content> content_;
  MemoryFileSystem& owner_;
};

void MemoryFileSystem::Put(const std::string& path, std::string_view bytes) {
  auto content = std::make_shared<Content>();
  content->bytes = bytes;
  absl::MutexLock lock(&mutex_);
  content->info = {path, bytes.size(), ++writes_};
  files_[path] = std::move(content);
}

void MemoryFileSystem::Remove(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  files_.erase(path);
}

void MemoryFileSystem::Refuse(const std::string& path, absl::Status status) {
  absl::MutexLock lock(&mutex_);
  auto content = std::make_shared<Content>(*files_.at(path));
  content->refusal = std::move(status);
  files_[path] = std::move(content);
}

void MemoryFileSystem::FailReads(const std::string& path, uint64_t offset, absl::Status status) {
  absl::MutexLock lock(&mutex_);
  auto content = std::make_shared<Content>(*files_.at(path));
  content->fail_from = offset;
  content->failure = std::move(status);
  files_[path] = std::move(content);
}

FileInfo MemoryFileSystem::Info(const std::string& path) const {
  absl::MutexLock lock(&mutex_);
  return files_.at(path)->info;
}

uint64_t MemoryFileSystem::bytes_read() const {
  absl::MutexLock lock(&mutex_);
  return bytes_read_;
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> MemoryFileSystem::Open(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  const auto it = files_.find(path);
  if (it == files_.end()) return NotFound("{}: no such file", path);
  HR_RETURN_IF_ERROR(it->second->refusal);
  return std::make_unique<File>(it->second, *this);
}

absl::StatusOr<std::vector<FileInfo>> MemoryFileSystem::List(const std::string& pattern) {
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> patterns, ExpandBraces(pattern));
  std::vector<FileInfo> out;
  absl::MutexLock lock(&mutex_);
  for (const auto& [path, content] : files_) {
    const std::vector<std::string> names = PathComponents(path);
    const bool match = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& one) {
      return Matches(PathComponents(one), names);
    });
    if (!match) continue;
    HR_RETURN_IF_ERROR(content->refusal);
    out.push_back(content->info);
  }
  if (out.empty()) return NotFound("{}: no file matches", pattern);
  return out;
}

}  // namespace headrace
