#include "cache/disk_tier.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "cache/segment_reader.h"
#include "cache/segment_writer.h"
#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr int kMostWorkers = 256;  // on one path
constexpr size_t kMostQueued = 1 << 16;

}  // namespace

struct DiskTier::FolderLock {
  explicit FolderLock(int f, std::string d) : fd(f), directory(std::move(d)) {}
  ~FolderLock() { ::close(fd); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  const int fd;
  const std::string directory;
};

// The first folder that no other process has. The kernel lets go of the lock with the process.
absl::StatusOr<std::shared_ptr<DiskTier::FolderLock>> DiskTier::LockFolder(
    const std::string& path) {
  for (int i = 0; i < kMostWorkers; ++i) {
    const std::string folder = fmt::format("{}/worker-{}", path, i);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return InvalidArgument("cache.disk.path: cannot make {}: {}", folder, error.message());
    }
    const int fd = ::open((folder + "/LOCK").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
      return InvalidArgument("cache.disk.path: cannot write to {}: {}", folder,
                             std::error_code(errno, std::generic_category()).message());
    }
    auto lock = std::make_shared<FolderLock>(fd, folder);
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
  }
  return InvalidArgument("cache.disk.path: {} workers use {} already", kMostWorkers, path);
}

class DiskSplit final : public CachedSplit {
 public:
  DiskSplit(std::shared_ptr<SegmentShelf> shelf, std::shared_ptr<KeptSegment> segment,
            OpenedSegment opened)
      : shelf_(std::move(shelf)), segment_(std::move(segment)), reader_(std::move(opened)) {}

  absl::StatusOr<std::optional<StoredFrame>> Next() override {
    const absl::Duration start = shelf_->clock().Steady();
    absl::StatusOr<std::optional<StoredFrame>> frame = reader_.Next();
    TierCounters::Add(shelf_->counters().read_nanos, shelf_->clock().Steady() - start);
    if (!frame.ok()) {
      Condemn(ReasonOf(frame.status()));
      return DataLoss("{}: {}", segment_->path, OneLine(frame.status()));
    }
    if (*frame) TierCounters::Add(shelf_->counters().read_bytes, (*frame)->frame.size);
    return frame;
  }
  uint64_t records() const override { return reader_.records(); }
  void Condemn(CacheDrop reason) override {
    LogWarning("cache: {} is dropped: {}", segment_->path, Name(reason));
    shelf_->Drop(*segment_, reason);
  }

 private:
  const std::shared_ptr<SegmentShelf> shelf_;
  const std::shared_ptr<KeptSegment>
      segment_;  // first to come, last to go: the file after its reader
  SegmentReader reader_;
};

class DiskFill final : public CacheFill {
 public:
  DiskFill(DiskTier& tier, std::shared_ptr<SegmentWriter> writer)
      : tier_(tier), writer_(std::move(writer)) {}

  // The writer removes what there is of the file on its own thread.
  ~DiskFill() override {
    if (writer_ == nullptr) return;
    writer_->Fail(FillDrop::kIncomplete);
    (void)tier_.writer_.TrySubmit([writer = std::move(writer_)]() mutable { writer.reset(); });
  }

  absl::Status Append(const NewFrame& frame) override {
    if (writer_->failed()) return ResourceExhausted("the disk tier has dropped this fill");
    if (!chunk_.Fits(frame)) HR_RETURN_IF_ERROR(SendChunk());
    if (!chunk_.Add(frame, tier_.options_.chunk_bytes)) {
      writer_->Fail(FillDrop::kNoRoom);
      return ResourceExhausted("no memory for a chunk");
    }
    return absl::OkStatus();
  }

  void Commit() override {
    if (writer_->failed() || !SendChunk().ok()) return;
    std::shared_ptr<SegmentWriter> writer = std::move(writer_);
    if (!tier_.writer_.TrySubmit([writer] { writer->Finish(); })) writer->Fail(FillDrop::kSlow);
  }

 private:
  absl::Status SendChunk() {
    if (chunk_.frames.empty()) return absl::OkStatus();
    PackedChunk chunk = std::exchange(chunk_, PackedChunk());
    std::atomic<uint64_t>& pending = tier_.shelf_->pending_bytes();
    const uint64_t bytes = chunk.capacity;
    if (pending.fetch_add(bytes) + bytes <= tier_.options_.pending_bytes &&
        tier_.writer_.TrySubmit(
            [writer = writer_, shelf = tier_.shelf_, bytes, c = std::move(chunk)]() mutable {
              writer->Write(std::move(c));
              shelf->pending_bytes() -= bytes;
            })) {
      return absl::OkStatus();
    }
    pending -= bytes;
    writer_->Fail(FillDrop::kSlow);
    return ResourceExhausted("the disk does not keep up");
  }

  DiskTier& tier_;
  std::shared_ptr<SegmentWriter> writer_;  // null once it is on its own
  PackedChunk chunk_;
};

absl::StatusOr<std::unique_ptr<DiskTier>> DiskTier::Open(Options options,
                                                         std::shared_ptr<const PrefixUse> prefixes,
                                                         const Clock& clock) {
  HR_ASSIGN_OR_RETURN(std::shared_ptr<FolderLock> lock, LockFolder(options.path));
  auto shelf = std::make_shared<SegmentShelf>(lock->directory, options.bytes, options.direct,
                                              std::move(prefixes), clock);
  std::unique_ptr<DiskTier> tier(new DiskTier(std::move(options), std::move(lock), shelf));
  HR_RETURN_IF_ERROR(shelf->Recover());
  return tier;
}

DiskTier::DiskTier(Options options, std::shared_ptr<FolderLock> lock,
                   std::shared_ptr<SegmentShelf> shelf)
    : options_(std::move(options)),
      lock_(std::move(lock)),
      shelf_(std::move(shelf)),
      writer_({.name = "hr-cache", .threads = 1, .max_queued = kMostQueued}) {}

std::unique_ptr<CachedSplit> DiskTier::Find(const CacheKey& key) {
  std::shared_ptr<KeptSegment> segment = shelf_->Find(key);
  if (segment == nullptr) return nullptr;
  const absl::Duration start = shelf_->clock().Steady();
  absl::StatusOr<OpenedSegment> opened = OpenSegment(segment->path, key, shelf_->direct());
  if (!opened.ok()) {
    LogWarning("cache: {} is dropped: {}", segment->path, OneLine(opened.status()));
    shelf_->Drop(*segment, ReasonOf(opened.status()));
    return nullptr;
  }
  TierCounters::Add(shelf_->counters().hits);
  TierCounters::Add(shelf_->counters().read_nanos, shelf_->clock().Steady() - start);
  return std::make_unique<DiskSplit>(shelf_, std::move(segment), *std::move(opened));
}

absl::StatusOr<std::unique_ptr<CacheFill>> DiskTier::Begin(const CacheKey& key,
                                                           std::shared_ptr<void> lease) {
  // What was begun should be able to end: only what the writer has time for is begun.
  if (shelf_->pending_bytes() > options_.pending_bytes / 2) {
    return ResourceExhausted("the disk does not keep up");
  }
  HR_RETURN_IF_ERROR(shelf_->MayBegin());
  return std::make_unique<DiskFill>(*this,
                                    std::make_shared<SegmentWriter>(shelf_, key, std::move(lease)));
}

}  // namespace headrace
