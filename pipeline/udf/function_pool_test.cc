// What a Python function may do to a worker, and what becomes of its records.
#include "pipeline/udf/function_pool.h"

#include <signal.h>

#include <optional>

#include "gmock/gmock.h"
#include "pipeline/udf/udf_rig.h"

namespace headrace::udf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kModule[] = R"(
import os, sys, time
import numpy as np

def double(record):
    return {"x": record["x"] * 2}

def batch_double(batch):
    return {"x": batch["x"] * 2}

def odd(record):
    return bool(record["x"] % 2)

def batch_odd(batch):
    return batch["x"] % 2 == 1

def count_down(record):
    return [{"x": i} for i in range(int(record["x"]), 0, -1)]

def names(record):
    return {"name": b"n%d" % record["x"], "many": [b"a"] * int(record["x"] % 3), "v": np.full(int(record["x"]) % 4, 0.5, np.float32)}

def draw(record, rng):
    return {"x": int(rng.integers(0, 1 << 40))}

def same(record):
    return record

def bad(record):
    x = int(record["x"])
    if x == 3:
        raise ValueError("three is right out")
    if x == 4:
        sys.exit(7)
    if x == 5:
        return {"x": np.float64(1)}
    if x == 6:
        return {"x": np.zeros(2, np.int64)}
    if x == 7:
        return None
    if x == 8:
        return {"y": 1}
    if x == 9:
        return {"x": 1, "y": 2}
    if x == 10:
        return {"x": 1.5}
    if x == 11:
        return {"x": 1 << 80}
    return {"x": x}

def batch_bad(batch):
    if (batch["x"] == 2).any():
        raise KeyError("two")
    return {"x": batch["x"]}

def batch_short(batch):
    return {"x": batch["x"][1:]}

def fatal(record):
    x = int(record["x"])
    if x == 3:
        os.abort()
    if x == 5:
        os._exit(0)
    if x == 6:
        os.kill(os.getpid(), 9)
    if x == 8:
        os.closerange(3, 100)
    return {"x": x}

def batch_fatal(batch):
    if (batch["x"] == 4).any():
        print("going down", flush=True)
        os.abort()
    return {"x": batch["x"]}

def hang(record):
    while record["x"] == 2:
        pass
    return record

def batch_hang(batch):
    while (batch["x"] == 2).any():
        time.sleep(1)
    return batch

kept = []
def leak(record):
    kept.append(np.ones(4 << 20, np.uint8))
    return record

def explode(record):
    if record["x"] == 1:
        everything = []
        while True:
            everything.append(np.ones(1 << 20, np.uint8))
            time.sleep(0.001)
    return record

def chatter(record):
    for i in range(20000):
        print("blah" * 20)
    sys.stderr.write("x" * 100000)
    return record

wrecked = False
def vandal(record):
    global wrecked
    if wrecked:
        return record
    wrecked = True
    import numpy, json, struct
    for name in list(sys.modules):
        if name.startswith("numpy") or name in ("json", "struct", "mmap", "os"):
            del sys.modules[name]
    for name in ("ndarray", "zeros", "asarray", "frombuffer", "cumsum"):
        if hasattr(numpy, name):
            delattr(numpy, name)
    sys.stdout.close()
    os.close(1)
    return record

def twins(record):
    os.fork()
    return record

def pid(record):
    return {"x": os.getpid()}

def scribble(record):
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        for line in open("/proc/self/maps"):
            if "headrace-udf-out" in line and record["x"] == 2:
                begin = int(line.split("-")[0], 16)
                memory.seek(begin)
                memory.write(b"\xff" * 128)
    if record["x"] == 2:
        os.write(3, b"\x02" + b"\xff" * 31)
    return record

def big(record):
    return {"x": np.ones(1 << 20, np.int64)}

not_callable = 3
)";

Schema OneNumber() { return Schema({{"x", DType::kInt64, {}}}); }

FunctionSpec Spec(std::string name, FunctionKind kind = FunctionKind::kMap) {
  FunctionSpec spec;
  spec.kind = kind;
  spec.function = "udf_mod:" + name;
  spec.batched = name.starts_with("batch_");
  spec.timeout = absl::Seconds(20);
  return spec;
}

std::vector<std::string> Messages(const Block& block) {
  std::vector<std::string> out;
  for (const RowFailure& failure : block.failures()) {
    out.push_back(
        fmt::format("{}: {}", failure.record.first, std::string(failure.status.message())));
  }
  return out;
}

class FunctionPoolTest : public testing::Test {
 protected:
  FunctionPoolTest() { modules_.Write("udf_mod", kModule); }

  FunctionPool& pool() {
    if (pool_ == nullptr)
      pool_ = std::make_unique<FunctionPool>(options_ ? *options_ : Options(modules_));
    return *pool_;
  }
  // Puts one block of numbers through a function.
  Block Through(FunctionSpec spec, const std::vector<int64_t>& numbers) {
    Bound bound(pool(), std::move(spec), OneNumber());
    EXPECT_TRUE(bound.open().ok()) << bound.open();
    absl::StatusOr<Block> out = bound.Run(Numbers(bound.input(), numbers));
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *std::move(out) : Block(bound.output());
  }
  std::string FatalMessage(FunctionSpec spec) {
    Bound bound(pool(), std::move(spec), OneNumber());
    EXPECT_TRUE(bound.open().ok()) << bound.open();
    const absl::StatusOr<Block> out = bound.Run(Numbers(bound.input(), {1}));
    EXPECT_FALSE(out.ok());
    EXPECT_EQ(out.status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(out.status().message());
  }

  Modules modules_;
  std::optional<FunctionPoolOptions> options_;
  std::unique_ptr<FunctionPool> pool_;
};

TEST_F(FunctionPoolTest, EachRecordGoesThroughTheFunction) {
  EXPECT_THAT(Values(Through(Spec("double"), {1, 2, 30})), ElementsAre(2, 4, 60));
}

TEST_F(FunctionPoolTest, ManyRecordsGoThroughOneCall) {
  EXPECT_THAT(Values(Through(Spec("batch_double"), {1, 2, 30})), ElementsAre(2, 4, 60));
}

TEST_F(FunctionPoolTest, AFilterSettlesWhatItDrops) {
  for (const char* name : {"odd", "batch_odd"}) {
    const Block out = Through(Spec(name, FunctionKind::kFilter), {1, 2, 3, 4, 5});
    EXPECT_THAT(Values(out), ElementsAre(1, 3, 5)) << name;
    EXPECT_THAT(out.settled(), ElementsAre(headrace::Run{1, 1, 1}, headrace::Run{1, 3, 1})) << name;
  }
}

TEST_F(FunctionPoolTest, FlatMapNumbersThePartsOfARecord) {
  const Block out = Through(Spec("count_down", FunctionKind::kFlatMap), {2, 0, 1, 3});
  EXPECT_THAT(Values(out), ElementsAre(2, 1, 1, 3, 2, 1));
  EXPECT_EQ(out.provenance(1).front(), (headrace::Run{1, 0, 1, 1, 2}));
  EXPECT_EQ(out.provenance(2).front(), (headrace::Run{1, 2, 1, 0, 1}));
  EXPECT_EQ(out.provenance(5).front(), (headrace::Run{1, 3, 1, 2, 3}));
  EXPECT_THAT(out.settled(), ElementsAre(headrace::Run{1, 1, 1}));
}

TEST_F(FunctionPoolTest, TextAndRaggedArraysComeBackAsDeclared) {
  FunctionSpec spec = Spec("names");
  spec.outputs = {*ParseReturnedField("name", "bytes"), *ParseReturnedField("many", "bytes[?]"),
                  *ParseReturnedField("v", "float32[?]")};
  Bound bound(pool(), spec, OneNumber());
  absl::StatusOr<Block> out = bound.Run(Numbers(bound.input(), {0, 5, 2, 7}));
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->rows(), 4u);
  EXPECT_THAT(out->failures(), IsEmpty());
  EXPECT_EQ(out->column(0)[1].string(), "n5");
  EXPECT_EQ(out->column(1)[1].shape, Shape{2});
  EXPECT_EQ(out->column(1)[1].string(1), "a");
  EXPECT_EQ(out->column(1)[0].shape, Shape{0});
  EXPECT_EQ(out->column(2)[3].shape, Shape{3});
  EXPECT_EQ(out->column(2)[3].as<float>()[2], 0.5f);
}

TEST_F(FunctionPoolTest, AValueHandedBackAsItWasIsNotCopied) {
  Bound bound(pool(), Spec("same"), OneNumber());
  Block block = Numbers(bound.input(), {4, 5});
  const std::byte* before = block.column(0)[1].data;
  absl::StatusOr<Block> out = bound.Run(std::move(block));
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->column(0)[1].data, before);
}

TEST_F(FunctionPoolTest, DrawsHangOnTheRecordAlone) {
  FunctionSpec spec = Spec("draw");
  spec.random = true;
  const std::vector<int64_t> first = Values(Through(spec, {0, 0, 0, 0}));
  const std::vector<int64_t> again = Values(Through(spec, {0, 0}));
  EXPECT_THAT(again, ElementsAre(first[0], first[1]));
  EXPECT_NE(first[0], first[1]);
}

// --- Wrong values and exceptions: each names its record; the others are kept.

TEST_F(FunctionPoolTest, ExceptionsAndWrongValuesFailTheirRecordOnly) {
  const Block out = Through(Spec("bad"), {1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_THAT(Values(out), ElementsAre(1, 12));
  EXPECT_THAT(
      Messages(out),
      ElementsAre(
          AllOf(HasSubstr("1: ValueError: three is right out (udf_mod.py:"), HasSubstr("in bad)")),
          HasSubstr("2: SystemExit: 7"),
          "3: returned float64 for 'x', which is declared as int64; .astype(np.int64) "
          "converts it",
          HasSubstr("4: returned an array of shape [2] for 'x', which is declared as int64"),
          HasSubstr("5: returned a NoneType; it must be a dict of the fields x"),
          HasSubstr("6: returned a dict without 'x', which is declared and with 'y'"),
          HasSubstr("7: returned a dict with 'y', which is not declared"),
          HasSubstr("8: returned a float for 'x', which is declared as int64"),
          HasSubstr("9: returned numbers that do not fit")));
  EXPECT_EQ(pool().counters().started, 1u);
}

TEST_F(FunctionPoolTest, ABatchedExceptionIsTracedToItsRecord) {
  const Block out = Through(Spec("batch_bad"), {1, 2, 3});
  EXPECT_THAT(Values(out), ElementsAre(1, 3));
  EXPECT_THAT(Messages(out), ElementsAre(HasSubstr("1: KeyError: 'two'")));
}

TEST_F(FunctionPoolTest, ABatchOfAnotherLengthIsRefused) {
  EXPECT_THAT(Messages(Through(Spec("batch_short"), {1, 2})),
              ElementsAre(HasSubstr("returned 0 rows for 1 records for 'x'"), HasSubstr("1: ")));
}

// --- Crashes: the process is lost, one record is, nothing else.

TEST_F(FunctionPoolTest, ACrashCostsItsRecordOnly) {
  const Block out = Through(Spec("fatal"), {1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(Values(out), ElementsAre(1, 2, 4, 7));
  EXPECT_THAT(Messages(out),
              testing::UnorderedElementsAre(
                  HasSubstr("2: 'udf_mod:fatal' ended its process: it was ended by signal 6"),
                  HasSubstr("4: 'udf_mod:fatal' ended its process: it exited with code 0"),
                  HasSubstr("5: 'udf_mod:fatal' ended its process: it was ended by signal 9")));
}

TEST_F(FunctionPoolTest, AFunctionThatClosesOurDescriptorsCostsItsRecordOnly) {
  const Block out = Through(Spec("fatal"), {1, 8, 2});
  EXPECT_THAT(Values(out), ElementsAre(1, 2));
  EXPECT_EQ(out.failures().size(), 1u);
}

TEST_F(FunctionPoolTest, ACrashInABatchIsTracedToItsRecord) {
  const Block out = Through(Spec("batch_fatal"), {1, 2, 3, 4, 5});
  EXPECT_THAT(Values(out), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(Messages(out), ElementsAre(AllOf(HasSubstr("3: 'udf_mod:batch_fatal' ended"),
                                               HasSubstr("it last printed: going down"))));
}

TEST_F(FunctionPoolTest, AHangEndsAfterItsTimeout) {
  for (const char* name : {"hang", "batch_hang"}) {
    FunctionSpec spec = Spec(name);
    spec.timeout = absl::Milliseconds(600);
    const Block out = Through(spec, {1, 2, 3});
    EXPECT_THAT(Values(out), ElementsAre(1, 3));
    EXPECT_THAT(Messages(out), ElementsAre(HasSubstr("took longer than its timeout, 600ms")));
  }
}

TEST_F(FunctionPoolTest, ALeakingProcessIsReplacedBetweenBlocks) {
  options_ = Options(modules_);
  options_->memory_bytes = 200 << 20;
  Bound bound(pool(), Spec("leak"), OneNumber());
  size_t rows = 0;
  for (int i = 0; i < 400 && pool().counters().recycled == 0; ++i) {
    absl::StatusOr<Block> out = bound.Run(Numbers(bound.input(), {1, 2}));
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(out->failures(), IsEmpty());
    rows += out->rows();
  }
  EXPECT_GE(pool().counters().recycled, 1u);
  absl::StatusOr<Block> out = bound.Run(Numbers(bound.input(), {1, 2}));
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->rows(), 2u);
}

TEST_F(FunctionPoolTest, ACallThatTakesAllMemoryIsEnded) {
  options_ = Options(modules_);
  options_->memory_bytes = 150 << 20;
  const Block out = Through(Spec("explode"), {0, 1, 2});
  EXPECT_THAT(Values(out), ElementsAre(0, 2));
  EXPECT_THAT(Messages(out),
              ElementsAre(HasSubstr("took more memory than twice udf_memory_bytes")));
}

TEST_F(FunctionPoolTest, WhatItPrintsNeverBlocksIt) {
  EXPECT_THAT(Values(Through(Spec("chatter"), {1, 2})), ElementsAre(1, 2));
}

TEST_F(FunctionPoolTest, AFunctionThatTakesModulesApartHarmsNobody) {
  EXPECT_THAT(Values(Through(Spec("vandal"), {1, 2, 3})), ElementsAre(1, 2, 3));
  EXPECT_THAT(Values(Through(Spec("double"), {1, 2, 3})), ElementsAre(2, 4, 6));
}

TEST_F(FunctionPoolTest, AForkedCopyDoesNotAnswer) {
  EXPECT_THAT(Values(Through(Spec("twins"), {1, 2, 3})), ElementsAre(1, 2, 3));
}

TEST_F(FunctionPoolTest, AProcessThatScribblesOverItsAnswerIsRefused) {
  const Block out = Through(Spec("scribble"), {1, 2, 3});
  EXPECT_THAT(Values(out), ElementsAre(1, 3));
  EXPECT_EQ(out.failures().size(), 1u);
}

TEST_F(FunctionPoolTest, AHangBehindQuickBlocksCostsItsRecordOnly) {
  FunctionSpec spec = Spec("hang");
  spec.timeout = absl::Milliseconds(400);
  Bound bound(pool(), spec, OneNumber());
  std::vector<std::unique_ptr<absl::Notification>> done;
  std::vector<absl::StatusOr<AsyncResult>> results;
  for (int i = 0; i < 200; ++i) results.emplace_back(Cancelled("no answer"));
  for (size_t i = 0; i < results.size(); ++i) {
    const int64_t value = i == 150 ? 2 : 7;
    done.push_back(std::make_unique<absl::Notification>());
    bound.session().Start(Numbers(bound.input(), {value}),
                          [&results, &done, i](absl::StatusOr<AsyncResult> result) {
                            results[i] = std::move(result);
                            done[i]->Notify();
                          });
  }
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(done[i]->WaitForNotificationWithTimeout(absl::Minutes(1))) << i;
    ASSERT_TRUE(results[i].ok()) << results[i].status();
    EXPECT_EQ(results[i]->block.live(0), i != 150) << i;
  }
}

TEST_F(FunctionPoolTest, AProcessThatIsKilledIsReplaced) {
  Bound bound(pool(), Spec("pid"), OneNumber());
  absl::StatusOr<Block> first = bound.Run(Numbers(bound.input(), {1}));
  ASSERT_TRUE(first.ok());
  ::kill(static_cast<pid_t>(Values(*first)[0]), SIGKILL);
  absl::StatusOr<Block> second = bound.Run(Numbers(bound.input(), {1}));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(second->failures(), IsEmpty());
  EXPECT_NE(Values(*first), Values(*second));
}

TEST_F(FunctionPoolTest, MemoryGrowsWithTheBlockUpToItsLimit) {
  FunctionSpec spec = Spec("big");
  spec.outputs = {*ParseReturnedField("x", "int64[?]")};
  EXPECT_EQ(Values(Through(spec, {1})).size(), 1u << 20);
  pool_.reset();
  options_ = Options(modules_);
  options_->block_bytes = 1 << 20;
  const Block out = Through(spec, {1});
  EXPECT_THAT(Messages(out),
              ElementsAre(HasSubstr("returned more than 1048576 bytes for one block")));
}

// --- What cannot start says so.

TEST_F(FunctionPoolTest, WhatCannotBeLoadedEndsTheTaskWithTheReason) {
  EXPECT_THAT(FatalMessage(Spec("no_such")), HasSubstr("has no 'no_such'"));
  EXPECT_THAT(FatalMessage(Spec("not_callable")), HasSubstr("is a int, not a function"));
  FunctionSpec spec = Spec("same");
  spec.function = "no_such_module:f";
  EXPECT_THAT(FatalMessage(spec), HasSubstr("No module named 'no_such_module'"));
  modules_.Write("broken", "import os\nos._exit(9)\n");
  spec.function = "broken:f";
  EXPECT_THAT(FatalMessage(spec), HasSubstr("exited with code 9 before it was loaded"));
  spec = Spec("draw");
  EXPECT_THAT(FatalMessage(spec), HasSubstr("random: true"));
}

TEST_F(FunctionPoolTest, RequirementsAreCheckedAtTheStart) {
  FunctionSpec spec = Spec("double");
  spec.needs = {"numpy>=1.20,<99"};
  EXPECT_THAT(Values(Through(spec, {1})), ElementsAre(2));
  spec.needs = {"numpy>=99.5"};
  EXPECT_THAT(FatalMessage(spec), HasSubstr("requires 'numpy>=99.5': the worker's Python"));
  spec.needs = {"no-such-package"};
  EXPECT_THAT(FatalMessage(spec), HasSubstr("no-such-package is not installed"));
  spec.needs = {"what is this"};
  EXPECT_THAT(FatalMessage(spec), HasSubstr("is not like 'numpy>=1.20'"));
}

TEST_F(FunctionPoolTest, AMissingInterpreterIsNamed) {
  options_ = Options(modules_);
  options_->python = "/no/such/python";
  EXPECT_THAT(FatalMessage(Spec("double")),
              AllOf(HasSubstr("/no/such/python"), HasSubstr("udf_python")));
}

TEST_F(FunctionPoolTest, TheOperatorDecidesWhatRuns) {
  options_ = Options(modules_);
  options_->mode = FunctionMode::kOff;
  EXPECT_THAT(std::string(Bound(pool(), Spec("double"), OneNumber()).open().message()),
              HasSubstr("udf: import"));
  pool_.reset();
  options_->mode = FunctionMode::kImport;
  FunctionSpec spec = Spec("double");
  spec.pickled = "gASVAAAAAAAAAA==";
  EXPECT_THAT(std::string(Bound(pool(), spec, OneNumber()).open().message()),
              HasSubstr("udf: pickle"));
}

// --- Ends.

TEST_F(FunctionPoolTest, ThePoolEndsWhileAFunctionHangs) {
  FunctionSpec spec = Spec("hang");
  spec.timeout = absl::Hours(1);
  Bound bound(pool(), spec, OneNumber());
  bound.session().Start(Numbers(bound.input(), {2}),
                        [](const absl::StatusOr<AsyncResult>&) { ADD_FAILURE(); });
  bound.session().Stop();
  pool_.reset();
}

TEST_F(FunctionPoolTest, SubprocessesAreSharedByTasksOfTheSameFunction) {
  const std::vector<int64_t> first = Values(Through(Spec("pid"), {1}));
  EXPECT_EQ(Values(Through(Spec("pid"), {1})), first);
  EXPECT_EQ(pool().counters().started, 1u);
}

}  // namespace
}  // namespace headrace::udf
