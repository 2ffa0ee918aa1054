// headrace convert SRC DST: packs many small files into shards.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/convert/shard_plan.h"
#include "cli/convert/shard_writer.h"
#include "cli/table.h"
#include "common/logging/progress_bar.h"
#include "common/status.h"
#include "common/sync/signals.h"
#include "pipeline/catalog/catalog.h"

namespace headrace {
namespace {

class Convert final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("source", source_, "a folder of images, a file, or a pattern")->required();
    app.add_option("destination", destination_, "NAME.tfrecord or NAME.tar (.gz, .zst)")
        ->required();
    app.add_option("--format", format_,
                   "of the source; left out: told by its names, a folder is image_folder");
    app.add_option("--shards", shards_, "how many files to write")
        ->check(CLI::Range(1, 99999))
        ->capture_default_str();
    seed_option_ = app.add_option(
        "--seed", seed_, "shuffle the records, the same way each time; left out: keep their order");
    app.add_flag("--overwrite", overwrite_,
                 "write shards that are there already anew; else they are kept");
    app.add_option("--on-error", on_error_, "what a damaged record does")
        ->check(CLI::IsMember({"fail", "skip"}))
        ->capture_default_str();
  }

  absl::Status Run() override {
    ShutdownSignal signal;
    const Catalog catalog;
    const std::unique_ptr<FileSystem> files = NewLocalFileSystem();
    HR_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ShardPaths(destination_, shards_));
    HR_ASSIGN_OR_RETURN(const Dataset dataset, List(catalog, *files));
    ShardOptions options;
    options.shuffle = seed_option_->count() > 0;
    options.seed = seed_;
    const auto dealt = DealSplits(dataset.splits.size(), shards_, options.shuffle, seed_);
    ProgressBar bar({.label = "convert", .unit = "records"});
    uint64_t records = 0, bytes = 0, kept = 0;
    for (size_t i = 0; i < paths.size(); ++i) {
      std::error_code error;
      if (!overwrite_ && std::filesystem::exists(paths[i], error)) {
        ++kept;
        continue;
      }
      HR_ASSIGN_OR_RETURN(const ShardResult shard,
                          WriteShard(dataset, dealt[i], *files, paths[i], options, [&](uint64_t n) {
                            bar.Update(static_cast<int64_t>(records + n));
                            return !signal.token().Cancelled();
                          }));
      records += shard.records;
      bytes += shard.bytes;
      for (const std::string& message : shard.damaged) {
        if (on_error_ == "fail") {
          std::filesystem::remove(paths[i], error);
          return DataLoss("{} (--on-error skip leaves such records out)", message);
        }
        std::fprintf(stderr, "left out: %s\n", message.c_str());
      }
    }
    bar.Finish();
    std::printf("%llu records, %s, in %zu shards%s\n", static_cast<unsigned long long>(records),
                Bytes(static_cast<double>(bytes)).c_str(), paths.size() - kept,
                kept == 0 ? "" : fmt::format(" ({} were there already)", kept).c_str());
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Dataset> List(const Catalog& catalog, FileSystem& files) const {
    v1::Source source;
    std::error_code error;
    const std::filesystem::path absolute =
        std::filesystem::absolute(source_, error).lexically_normal();
    source.add_files(absolute.string());
    source.set_format(format_);
    if (format_.empty() && std::filesystem::is_directory(absolute, error))
      source.set_format("image_folder");
    // Splits of about an eighth of a shard, so that shuffling mixes the whole source.
    HR_ASSIGN_OR_RETURN(Dataset dataset, ListDataset(source, catalog.formats, files, {}));
    SplitOptions options;
    options.target_bytes = std::clamp<uint64_t>(dataset.bytes / (shards_ * 8), 1 << 16, 64 << 20);
    return ListDataset(source, catalog.formats, files, options);
  }

  std::string source_;
  std::string destination_;
  std::string format_;
  size_t shards_ = 1;
  uint64_t seed_ = 0;
  CLI::Option* seed_option_ = nullptr;
  bool overwrite_ = false;
  std::string on_error_ = "fail";
};

}  // namespace

void Register_convert(CommandList& commands) {
  commands.Add<Convert>("convert", "Packs many small files into TFRecord or WebDataset shards");
}

}  // namespace headrace
