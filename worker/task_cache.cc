#include "worker/task_cache.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "cache/block_codec.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "pipeline/formats/reading/file_run.h"
#include "pipeline/graph/fingerprint.h"
#include "worker/split_fill.h"

namespace headrace {
namespace {

// Files that a step reads because a parameter names them: (step, parameter).
constexpr std::pair<std::string_view, std::string_view> kFileParams[] = {{"tokenize", "model"}};

std::vector<std::string> FilesOf(const Node& node) {
  std::vector<std::string> files;
  for (const auto& [op, param] : kFileParams) {
    if (node.op != op) continue;
    for (const v1::NamedValue& entry : node.params.entries()) {
      if (entry.name() == param) files.push_back(entry.value().text());
    }
  }
  return files;
}

class StoredRows final : public CachedRows {
 public:
  StoredRows(std::unique_ptr<CachedSplit> kept, SchemaPtr schema, const v1::Split& split)
      : kept_(std::move(kept)),
        schema_(std::move(schema)),
        split_(split.id()),
        path_(split.path()) {}

  absl::StatusOr<std::optional<Block>> Next() override {
    absl::StatusOr<std::optional<Block>> rows = Read();
    if (!rows.ok()) {
      LogWarning("cache: split {} of {} is read from its file from record {} on: {}", split_, path_,
                 record_, OneLine(rows.status()));
    }
    return rows;
  }

 private:
  absl::StatusOr<std::optional<Block>> Read() {
    HR_ASSIGN_OR_RETURN(std::optional<StoredFrame> frame, kept_->Next());
    if (!frame && record_ == kept_->records()) return std::optional<Block>();
    if (!frame || frame->first != record_) {
      kept_->Condemn(CacheDrop::kDamaged);
      return DataLoss("record {} is not there", record_);
    }
    absl::StatusOr<Block> block = DecodeFrame(*frame, schema_, split_);
    if (!block.ok()) {
      kept_->Condemn(CacheDrop::kForeign);
      return block.status();
    }
    record_ += frame->count;
    return std::optional<Block>(*std::move(block));
  }

  const std::unique_ptr<CachedSplit> kept_;
  const SchemaPtr schema_;
  const uint64_t split_;
  const std::string path_;
  uint64_t record_ = 0;
};

}  // namespace

std::shared_ptr<TaskCache> TaskCache::Make(Deps deps, const Graph& graph, uint64_t epoch,
                                           std::string_view dataset_version) {
  if (deps.cache.empty() || !graph.cache()) return nullptr;
  std::shared_ptr<TaskCache> made(new TaskCache(std::move(deps)));
  // The step itself will say what is wrong with its file.
  if (!made->Describe(graph, epoch).ok()) return nullptr;
  made->group_ = fmt::format("{} {} {}", made->prefix_, made->draw_, dataset_version);
  return made;
}

absl::Status TaskCache::Describe(const Graph& graph, uint64_t epoch) {
  const CachePoint& point = *graph.cache();
  Fingerprint prefix;
  prefix.Add(point.fingerprint);
  for (size_t i = 0; i < point.node; ++i) {
    for (const std::string& path : FilesOf(graph.nodes()[i])) {
      HR_ASSIGN_OR_RETURN(const std::string absolute, files_->Absolute(path));
      HR_ASSIGN_OR_RETURN(const auto file, files_->Open(absolute));
      step_files_.push_back(file->info());
      prefix.Add(file->info().path)
          .Add(file->info().size)
          .Add(static_cast<uint64_t>(file->info().mtime_ns));
    }
  }
  prefix_ = prefix.Hex();
  tier_ = point.tier;
  if (point.variants > 0) draw_ = fmt::format("variant {}", epoch % point.variants);
  schema_ = graph.nodes()[point.node].output;
  use_ = cache_.prefixes().Acquire(prefix_);
  return absl::OkStatus();
}

absl::Status TaskCache::ForEachFile(const v1::Split& split,
                                    absl::FunctionRef<absl::Status(const FileInfo&)> take) {
  if (split.path().empty()) return absl::OkStatus();  // a format without files
  if (!split.has_more_files()) {
    return take({split.path(), split.file_size(), split.file_mtime_ns()});
  }
  FileRunReader files(split);
  FileInfo file;
  while (true) {
    HR_ASSIGN_OR_RETURN(const bool more, files.Next(file));
    if (!more) return absl::OkStatus();
    HR_RETURN_IF_ERROR(take(file));
  }
}

CacheKey TaskCache::KeyOf(const v1::Split& split, uint32_t pass) const {
  Fingerprint place, version;
  place.Add(split.begin()).Add(split.end()).Add(uint64_t{split.root_length()});
  // Draws are keyed by the split's number and the pass.
  if (!draw_.empty()) place.Add(draw_).Add(split.id()).Add(uint64_t{pass});
  (void)ForEachFile(split, [&](const FileInfo& file) {
    place.Add(file.path);
    version.Add(file.size).Add(static_cast<uint64_t>(file.mtime_ns));
    return absl::OkStatus();
  });
  return {prefix_, place.Hex(), version.Hex()};
}

absl::Status TaskCache::CheckUnchanged(const v1::Split& split) const {
  const auto check = [this](const FileInfo& file) { return OpenUnchanged(*files_, file).status(); };
  for (const FileInfo& file : step_files_) HR_RETURN_IF_ERROR(check(file));
  return ForEachFile(split, check);
}

bool TaskCache::Quiet(const v1::Split& split) const {
  const int64_t latest = absl::ToUnixNanos(clock_.Now() - kQuiet);
  const auto check = [latest](const FileInfo& file) {
    return file.mtime_ns <= latest ? absl::OkStatus() : Unavailable("written lately");
  };
  return std::all_of(step_files_.begin(), step_files_.end(),
                     [&](const FileInfo& file) { return check(file).ok(); }) &&
         ForEachFile(split, check).ok();
}

bool TaskCache::InShare(const CacheKey& key) const {
  if (share_ >= 1) return true;
  uint32_t digits = 0;
  // Of the place alone: a changed file stays in, or out.
  const std::from_chars_result parsed =
      std::from_chars(key.place.data(), key.place.data() + 8, digits, 16);
  return parsed.ec == std::errc() && digits < share_ * 0x1p32;
}

std::unique_ptr<CachedRows> TaskCache::Open(const v1::Split& split, uint32_t pass) {
  if (!CheckUnchanged(split).ok()) return nullptr;  // its reader will say why
  const CacheKey key = KeyOf(split, pass);
  std::unique_ptr<CachedSplit> kept = cache_.Find(key, tier_);
  if (kept == nullptr) return nullptr;
  held_.Note(group_, static_cast<uint32_t>(split.id()), key);
  return std::make_unique<StoredRows>(std::move(kept), schema_, split);
}

std::shared_ptr<PrefixFill> TaskCache::Fill(const v1::Split& split, uint32_t pass) {
  if (!Quiet(split)) return nullptr;
  const CacheKey key = KeyOf(split, pass);
  if (!InShare(key)) return nullptr;
  std::unique_ptr<CacheFill> fill = cache_.Begin(key, tier_);
  if (fill == nullptr) return nullptr;
  held_.Note(group_, static_cast<uint32_t>(split.id()), key);  // told once it is there
  // Files that changed while they were read have made rows of no version.
  return std::make_shared<SplitFill>(std::move(fill),
                                     [this, split] { return CheckUnchanged(split).ok(); });
}

}  // namespace headrace
