#include "pipeline/ops/op_harness.h"
#include "pipeline/sources/memory_file_system.h"
#include "pipeline/tokenizer/test_model.h"

namespace headrace::op_test {
namespace {

using testing::ElementsAre;

const Schema kText({{"text", DType::kBytes, Shape()}, {"n", DType::kInt64, Shape()}});

class TokenizeTest : public testing::Test {
 protected:
  TokenizeTest() {
    files_.Put("/the.model", tokenizer_test::TheModel().Build());
    context_.files = &files_;
  }
  static Params Given(std::string model = "/the.model", std::string field = "text") {
    return Params().Set("field", std::move(field)).Set("model", std::move(model));
  }
  // The ids of "the he" and "the", or the error.
  absl::StatusOr<std::vector<std::vector<int32_t>>> Ids(const Params& params) {
    HR_ASSIGN_OR_RETURN(BoundStep step, Build("tokenize", params, kText));
    Block block =
        Rows(step.input, {{Text("the he"), Num<int64_t>(1)}, {Text(""), Num<int64_t>(2)}});
    HR_RETURN_IF_ERROR(RunStateless(step, block, context_));
    std::vector<std::vector<int32_t>> out;
    for (const Cell& cell : block.column(0)) {
      const auto ids = cell.as<int32_t>();
      out.emplace_back(ids.begin(), ids.end());
    }
    return out;
  }

  MemoryFileSystem files_;
  StepContext context_;
};

TEST_F(TokenizeTest, TextBecomesIdsInItsPlace) {
  const auto step = Build("tokenize", Given(), kText);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{text: int32 [?], n: int64 []}");
  EXPECT_THAT(*Ids(Given()), ElementsAre(ElementsAre(3, 4, 8), ElementsAre()));
}

TEST_F(TokenizeTest, SpecialPiecesCountInTheLength) {
  const Params both = Given().Set("add_bos", true).Set("add_eos", true);
  EXPECT_THAT(*Ids(both), ElementsAre(ElementsAre(1, 3, 4, 8, 2), ElementsAre(1, 2)));
  Params cut = both;
  EXPECT_THAT(*Ids(cut.Set("max_length", 4)),
              ElementsAre(ElementsAre(1, 3, 4, 2), ElementsAre(1, 2)));
  EXPECT_THAT(*Ids(Given().Set("max_length", 1)), ElementsAre(ElementsAre(3), ElementsAre()));
  EXPECT_EQ(MessageOf(Ids(Given().Set("add_bos", true).Set("max_length", 1))),
            "max_length: expected 0 (no limit) or at least 2, got 1");
}

TEST_F(TokenizeTest, AModelThatCannotBeUsedEndsTheTaskAndIsNamed) {
  files_.Put("/bad.model", "not a model");
  EXPECT_THAT(MessageOf(Ids(Given("/bad.model"))),
              testing::StartsWith("model /bad.model: this is no SentencePiece model"));
  EXPECT_THAT(MessageOf(Ids(Given("/none.model"))), testing::HasSubstr("/none.model"));
  files_.Refuse("/the.model", absl::PermissionDeniedError("outside of the roots"));
  EXPECT_EQ(MessageOf(Ids(Given())), "model /the.model: outside of the roots");
}

TEST_F(TokenizeTest, OneTextPerRowIsTaken) {
  EXPECT_EQ(MessageOf(Build("tokenize", Given("/the.model", "n"), kText)),
            "field 'n' is int64 []; tokenize takes one text per row (bytes [])");
}

}  // namespace
}  // namespace headrace::op_test
