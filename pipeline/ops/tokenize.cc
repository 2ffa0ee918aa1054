// tokenize: text -> int32 token ids, by a SentencePiece model file. The file is opened where the
// step runs, at the first block: the machine that builds the pipeline need not have it.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/sources/file_system.h"
#include "pipeline/tokenizer/tokenizer.h"

namespace headrace {
namespace {

constexpr uint64_t kMaxModelBytes = uint64_t{256} << 20;

struct TokenizeParams {
  std::string field;
  std::string model;
  bool add_bos = false;
  bool add_eos = false;
  int64_t max_length = 0;
};

absl::StatusOr<std::string> ReadAll(FileSystem& files, const std::string& path) {
  HR_ASSIGN_OR_RETURN(const std::string absolute, files.Absolute(path));
  HR_ASSIGN_OR_RETURN(const auto file, files.Open(absolute));
  const uint64_t size = file->info().size;
  if (size > kMaxModelBytes)
    return InvalidArgument("{}: {} bytes; a model has {} at most", path, size, kMaxModelBytes);
  std::string bytes(size, '\0');
  HR_ASSIGN_OR_RETURN(const size_t read,
                      file->ReadAt(0, std::as_writable_bytes(std::span<char>(bytes))));
  if (read < size) return DataLoss("{}: {} bytes of {} could be read", path, read, size);
  return bytes;
}

class Tokenize final : public StatelessOp {
 public:
  explicit Tokenize(TokenizeParams params) : params_(std::move(params)) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    if (input[at_].dtype != DType::kBytes || input[at_].shape != Shape()) {
      return InvalidArgument("field '{}' is {} {}; tokenize takes one text per row (bytes [])",
                             params_.field, Name(input[at_].dtype), input[at_].shape.ToString());
    }
    Schema out = input;
    out[at_].dtype = DType::kInt32;
    out[at_].shape = Shape{Shape::kDynamic};
    return out;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    if (block.rows() == 0) return absl::OkStatus();
    HR_ASSIGN_OR_RETURN(Worker worker, Take(context.files));
    for (Cell& cell : block.column(at_)) {
      worker.ids.clear();
      if (params_.add_bos) worker.ids.push_back(worker.tokenizer->bos());
      worker.tokenizer->Encode(cell.string(), *worker.scratch, worker.ids);
      if (params_.max_length > 0) {
        const auto most = static_cast<size_t>(params_.max_length - (params_.add_eos ? 1 : 0));
        worker.ids.resize(std::min(worker.ids.size(), most));
      }
      if (params_.add_eos) worker.ids.push_back(worker.tokenizer->eos());
      const Shape shape{static_cast<int64_t>(worker.ids.size())};
      cell = MakeCell<int32_t>(block.arena(), std::span<const int32_t>(worker.ids), shape);
    }
    absl::MutexLock lock(&mutex_);
    idle_.push_back(std::move(worker.scratch));
    return absl::OkStatus();
  }

 private:
  struct Worker {
    std::shared_ptr<const Tokenizer> tokenizer;
    std::unique_ptr<Tokenizer::Scratch> scratch;  // one per thread that is at it
    std::vector<int32_t> ids;
  };

  absl::StatusOr<Worker> Take(FileSystem* files) const {
    absl::MutexLock lock(&mutex_);
    if (tokenizer_ == nullptr) {
      absl::Status loaded = Load(files);
      if (!loaded.ok()) return Annotate(loaded, fmt::format("model {}", params_.model));
    }
    Worker worker{tokenizer_, nullptr, {}};
    if (idle_.empty()) {
      worker.scratch = std::make_unique<Tokenizer::Scratch>();
    } else {
      worker.scratch = std::move(idle_.back());
      idle_.pop_back();
    }
    return worker;
  }

  absl::Status Load(FileSystem* files) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (files == nullptr) return FailedPrecondition("no files can be opened here");
    HR_ASSIGN_OR_RETURN(const std::string bytes, ReadAll(*files, params_.model));
    HR_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::Create(bytes));
    if (params_.add_bos && tokenizer.bos() < 0)
      return InvalidArgument("it has no begin-of-sentence piece; leave add_bos out");
    if (params_.add_eos && tokenizer.eos() < 0)
      return InvalidArgument("it has no end-of-sentence piece; leave add_eos out");
    tokenizer_ = std::make_shared<const Tokenizer>(std::move(tokenizer));
    return absl::OkStatus();
  }

  TokenizeParams params_;
  size_t at_ = 0;
  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const Tokenizer> tokenizer_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<std::unique_ptr<Tokenizer::Scratch>> idle_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<Op>> Make(TokenizeParams params) {
  const int64_t special = (params.add_bos ? 1 : 0) + (params.add_eos ? 1 : 0);
  if (params.max_length < 0 || (params.max_length > 0 && params.max_length <= special)) {
    return InvalidArgument("max_length: expected 0 (no limit) or at least {}, got {}", special + 1,
                           params.max_length);
  }
  if (params.model.empty()) return InvalidArgument("model: expected the path of a .model file");
  return std::make_unique<Tokenize>(std::move(params));
}

}  // namespace

void Register_tokenize(OpRegistry& registry) {
  ParamSet<TokenizeParams> params;
  params.Required("field", &TokenizeParams::field, "bytes field with one text per row, UTF-8")
      .Required("model", &TokenizeParams::model,
                "SentencePiece .model file (unigram or bpe), as the workers see it")
      .Optional("add_bos", &TokenizeParams::add_bos, "begin with the model's <s>")
      .Optional("add_eos", &TokenizeParams::add_eos, "end with the model's </s>")
      .Optional("max_length", &TokenizeParams::max_length,
                "tokens kept of a text, <s> and </s> among them; 0: all");
  registry.Add<TokenizeParams>("tokenize", "Text to int32 token ids by a SentencePiece model.",
                               std::move(params), Make);
}

}  // namespace headrace
