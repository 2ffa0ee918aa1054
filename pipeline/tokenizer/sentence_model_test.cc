#include "pipeline/tokenizer/sentence_model.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/tokenizer/test_model.h"

namespace headrace {
namespace {

using tokenizer_test::ModelBytes;
using tokenizer_test::TheModel;

std::string MessageOf(std::string_view bytes) {
  const auto model = ParseSentenceModel(bytes);
  EXPECT_FALSE(model.ok());
  return model.ok() ? "" : std::string(model.status().message());
}

TEST(SentenceModelTest, SpecialPiecesAndSettingsAreFound) {
  const auto model = ParseSentenceModel(TheModel().Trainer(3, 2).Normalizer(4, 0).Build());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->kind, SentenceModel::Kind::kBpe);
  EXPECT_EQ(model->pieces.size(), 9u);
  EXPECT_EQ(model->unk, 0);
  EXPECT_EQ(model->bos, 1);
  EXPECT_EQ(model->eos, 2);
  EXPECT_TRUE(model->add_dummy_prefix);
  EXPECT_FALSE(model->remove_extra_whitespaces);
  EXPECT_EQ(model->pieces[8].score, -6);
}

TEST(SentenceModelTest, EveryCutOfAModelIsAnErrorOrAModelAndNeverACrash) {
  const std::string bytes = TheModel().Trainer(3, 1).Build();
  for (size_t size = 0; size < bytes.size(); ++size)
    (void)ParseSentenceModel(std::string_view(bytes).substr(0, size)).ok();
  EXPECT_THAT(MessageOf(std::string_view(bytes).substr(0, 5)), testing::HasSubstr("do not add up"));
}

TEST(SentenceModelTest, OtherFilesAreToldFromModels) {
  EXPECT_EQ(MessageOf(""), "this is no SentencePiece model, or a damaged one: it has no pieces");
  EXPECT_THAT(MessageOf("{\"model\": {}}"), testing::HasSubstr("this is no SentencePiece model"));
  EXPECT_THAT(MessageOf(ModelBytes().Piece("a").Piece("a").Build()),
              testing::HasSubstr("piece 4 'a' is there twice"));
  EXPECT_THAT(MessageOf(TheModel().Trainer(35, 1).Build()),
              testing::HasSubstr("it has no piece for byte 0x00"));
  EXPECT_EQ(MessageOf(TheModel().Trainer(3, 4).Build()),
            "SentencePiece models of type char are not read; unigram and bpe are");
}

}  // namespace
}  // namespace headrace
