#include "cache/segment_shelf.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "cache/segment_format.h"
#include "cache/segment_reader.h"
#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr std::string_view kUnfinished = ".tmp";
constexpr uint64_t kLeastFreeInodes = 64;

}  // namespace

KeptSegment::~KeptSegment() {
  if (doomed) ::unlink(path.c_str());
}

SegmentShelf::SegmentShelf(std::string directory, uint64_t bytes, bool direct,
                           std::shared_ptr<const PrefixUse> prefixes, const Clock& clock)
    : directory_(std::move(directory)),
      direct_(direct),
      prefixes_(std::move(prefixes)),
      clock_(clock),
      budget_(std::make_shared<MemoryBudget>("the disk cache (cache.disk.bytes)",
                                             static_cast<int64_t>(bytes),
                                             MemoryBudget::Oversize::kRefuse)) {}

struct SegmentShelf::Found {
  std::string path;
  CacheKey key;
  uint64_t serial = 0;
  int64_t mtime_ns = 0;
};

absl::Status SegmentShelf::Recover() {
  std::vector<Found> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    Found file;
    file.path = it->path().string();
    std::string name = it->path().filename().string();
    const bool unfinished = name.ends_with(kUnfinished);
    if (unfinished) name.resize(name.size() - kUnfinished.size());
    // What does not have a name of ours is somebody else's, and left alone.
    if (!ParseSegmentFileName(name, file.key, file.serial)) continue;
    serial_ = std::max(serial_.load(), file.serial);
    if (unfinished) {
      counters_.Dropped(CacheDrop::kTorn);
      ::unlink(file.path.c_str());
      continue;
    }
    struct stat info = {};
    if (::stat(file.path.c_str(), &info) == 0)
      file.mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
    found.push_back(std::move(file));
  }
  if (error) return Unavailable("read the cache's directory {}: {}", directory_, error.message());
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::pair(a.mtime_ns, a.serial) > std::pair(b.mtime_ns, b.serial);
  });
  for (const Found& file : found) {
    const absl::Status status = RecoverOne(file);
    if (status.ok()) continue;
    LogInfo("cache: {} is dropped: {}", file.path, OneLine(status));
    ::unlink(file.path.c_str());
  }
  return absl::OkStatus();
}

absl::Status SegmentShelf::RecoverOne(const Found& found) {
  absl::StatusOr<OpenedSegment> opened = OpenSegment(found.path, found.key, direct_);
  if (!opened.ok()) {
    counters_.Dropped(ReasonOf(opened.status()));
    return opened.status();
  }
  const uint64_t bytes = opened->file->bytes();
  std::optional<Reservation> claim = budget_->TryReserve(static_cast<int64_t>(bytes));
  absl::MutexLock lock(&mutex_);
  if (segments_.Use(found.key) != nullptr) {
    counters_.Dropped(CacheDrop::kStale);
    return FailedPrecondition("there is a newer one of this split");
  }
  if (!claim) {
    counters_.Dropped(CacheDrop::kEvicted);
    return ResourceExhausted("cache.disk.bytes is used up");
  }
  std::vector<Reservation> claims;
  claims.push_back(*std::move(claim));
  segments_.Put(std::make_shared<KeptSegment>(found.key, found.path, bytes, opened->index.records,
                                              budget_, std::move(claims)));
  segment_bytes_ += bytes;
  return absl::OkStatus();
}

bool SegmentShelf::Claim(uint64_t bytes, std::vector<Reservation>& claims) {
  if (bytes > static_cast<uint64_t>(budget_->limit())) return false;  // evicts nothing in vain
  while (true) {
    if (std::optional<Reservation> claim = budget_->TryReserve(static_cast<int64_t>(bytes))) {
      claims.push_back(*std::move(claim));
      return true;
    }
    std::shared_ptr<KeptSegment> victim;
    {
      absl::MutexLock lock(&mutex_);
      victim = segments_.TakeVictim(*prefixes_);
      if (victim == nullptr) return false;
      segment_bytes_ -= victim->bytes;
    }
    counters_.Dropped(CacheDrop::kEvicted);
    victim->doomed = true;  // its file goes here, unless someone reads it
  }
}

std::shared_ptr<KeptSegment> SegmentShelf::Find(const CacheKey& key) {
  std::shared_ptr<KeptSegment> segment;
  {
    absl::MutexLock lock(&mutex_);
    segment = segments_.Use(key);
  }
  if (segment == nullptr || segment->key.version == key.version) return segment;
  Drop(*segment, CacheDrop::kStale);
  return nullptr;
}

bool SegmentShelf::Holds(const CacheKey& key) const {
  absl::MutexLock lock(&mutex_);
  return segments_.Holds(key);
}

void SegmentShelf::Add(std::shared_ptr<KeptSegment> segment) {
  std::shared_ptr<KeptSegment> old;  // its file goes after the lock
  absl::MutexLock lock(&mutex_);
  segment_bytes_ += segment->bytes;
  old = segments_.Put(std::move(segment));
  if (old == nullptr) return;
  segment_bytes_ -= old->bytes;
  old->doomed = true;
  counters_.Dropped(CacheDrop::kStale);
}

void SegmentShelf::Drop(const KeptSegment& segment, CacheDrop reason) {
  std::shared_ptr<KeptSegment> gone;  // goes after the lock
  absl::MutexLock lock(&mutex_);
  gone = segments_.Take(segment.key, &segment);
  if (gone == nullptr) return;
  segment_bytes_ -= gone->bytes;
  gone->doomed = true;
  counters_.Dropped(reason);
}

absl::Status SegmentShelf::MayBegin() const {
  const auto used = static_cast<uint64_t>(budget_->used());
  const auto limit = static_cast<uint64_t>(budget_->limit());
  {
    absl::MutexLock lock(&mutex_);
    if (clock_.Steady() < full_until_) return ResourceExhausted("the file system is full");
    const uint64_t mean = segments_.size() == 0 ? 0 : segment_bytes_ / segments_.size();
    if (!segments_.HasVictim(*prefixes_) && (used >= limit || limit - used < mean)) {
      return ResourceExhausted("cache.disk.bytes is used up");
    }
  }
  struct statvfs info = {};
  if (::statvfs(directory_.c_str(), &info) == 0 && info.f_files > 0 &&
      info.f_favail < kLeastFreeInodes) {
    return ResourceExhausted("the file system of {} has {} inodes left", directory_, info.f_favail);
  }
  return absl::OkStatus();
}

void SegmentShelf::NoteFull() {
  absl::MutexLock lock(&mutex_);
  full_until_ = clock_.Steady() + kFullPause;
}

TierUse SegmentShelf::use() const {
  absl::MutexLock lock(&mutex_);
  return {.bytes = static_cast<uint64_t>(budget_->used()),
          .limit = static_cast<uint64_t>(budget_->limit()),
          .entries = segments_.size()};
}

}  // namespace headrace
