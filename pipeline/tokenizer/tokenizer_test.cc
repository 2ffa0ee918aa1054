#include "pipeline/tokenizer/tokenizer.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "common/test_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/tokenizer/test_model.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using tokenizer_test::kByte;
using tokenizer_test::kUnused;
using tokenizer_test::kUserDefined;
using tokenizer_test::ModelBytes;
using tokenizer_test::TheModel;

std::vector<int32_t> Ids(const std::string& model, std::string_view text) {
  const auto tokenizer = Tokenizer::Create(model);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  Tokenizer::Scratch scratch;
  std::vector<int32_t> ids, again;
  tokenizer->Encode(text, scratch, ids);
  tokenizer->Encode(text, scratch, again);
  EXPECT_EQ(ids, again) << "from the cache";
  return ids;
}

TEST(TokenizerTest, UnigramTakesTheLikeliestCut) {
  const std::string model = TheModel().Build();
  EXPECT_THAT(Ids(model, "the"), ElementsAre(3));
  EXPECT_THAT(Ids(model, "he"), ElementsAre(4, 8));  // -2-6 is more than -2-4-5
  EXPECT_THAT(Ids(model, "  the   the "), ElementsAre(3, 3));
  EXPECT_THAT(Ids(model, ""), ElementsAre());
  EXPECT_THAT(Ids(model, "   "), ElementsAre());
}

TEST(TokenizerTest, BpeJoinsTheBestPairFirst) {
  ModelBytes model;
  model.Piece("\xe2\x96\x81", -1).Piece("a", -9).Piece("b", -9).Piece("c", -9);
  model.Piece("bc", -2).Piece("ab", -3).Piece("abc", -4);
  const std::string bytes = model.Trainer(3, 2).Build();
  EXPECT_THAT(Ids(bytes, "abc"), ElementsAre(3, 9));
  EXPECT_THAT(Ids(bytes, "abab"), ElementsAre(3, 8, 8));
  EXPECT_THAT(Ids(bytes, "abb"), ElementsAre(3, 8, 5));
}

TEST(TokenizerTest, AnUnusedPieceOfBpeIsCutUpAgain) {
  ModelBytes model;
  model.Piece("\xe2\x96\x81", -1).Piece("a", -9).Piece("b", -9).Piece("ab", -2, kUnused);
  EXPECT_THAT(Ids(model.Trainer(3, 2).Build(), "ab"), ElementsAre(3, 4, 5));
}

TEST(TokenizerTest, UnknownCharactersInARowAreOneUnlessTheModelHasBytes) {
  EXPECT_THAT(Ids(TheModel().Build(), "xyt"), ElementsAre(4, 0, 5));
  ModelBytes model = TheModel();
  for (int b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", b);
    model.Piece(name, 0, kByte);
  }
  EXPECT_THAT(Ids(model.Trainer(35, 1).Build(), "x\xc3\xa9"),
              ElementsAre(4, 9 + 'x', 9 + 0xc3, 9 + 0xa9));
}

TEST(TokenizerTest, APieceOverAWordsStartKeepsTheTextWhole) {
  const auto apart = Tokenizer::Create(TheModel().Piece("\xe2\x96\x81\xe2\x96\x81", -7).Build());
  ASSERT_TRUE(apart.ok());
  EXPECT_TRUE(apart->by_word());
  const std::string over = TheModel().Piece("e\xe2\x96\x81t", 99).Build();
  EXPECT_FALSE(Tokenizer::Create(over)->by_word());
  EXPECT_THAT(Ids(over, "the the"), ElementsAre(4, 5, 6, 9, 8));
}

TEST(TokenizerTest, UserDefinedPiecesAreNeverCut) {
  for (const uint64_t kind : {1, 2}) {
    ModelBytes model = TheModel();
    model.Piece("<the>", 0, kUserDefined).Trainer(3, kind);
    const std::vector<int32_t> ids = Ids(model.Build(), "t<the>he");
    EXPECT_THAT(ids, ElementsAre(4, 5, 9, 8)) << kind;
  }
}

TEST(TokenizerTest, MalformedTextIsUnknownAndEndsNothing) {
  EXPECT_THAT(Ids(TheModel().Build(), "t\xff\xfet\xe2\x96"), ElementsAre(4, 5, 0, 5, 0));
  EXPECT_THAT(Ids(TheModel().Build(), std::string_view("t\0t", 3)), ElementsAre(4, 5, 0, 5));
}

// --- Against Debian's spm_train and spm_encode: real models, real texts.
class AgainstSpm : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/bin/spm_train"))
      GTEST_SKIP() << "/usr/bin/spm_train is not there (Debian's package sentencepiece)";
    folder_ = std::filesystem::temp_directory_path() /
              ("headrace-spm-" + std::to_string(getpid()) + "-" + GetName());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  static std::string GetName() {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name) {
      if (c == '/') c = '-';
    }
    return name;
  }
  void Write(const std::string& name, const std::vector<std::string>& lines) {
    std::ofstream out(folder_ / name, std::ios::binary);
    for (const std::string& line : lines) out << line << "\n";
  }
  std::string Path(const char* name) const { return (folder_ / name).string(); }

  // The ids of every line by both, one line each.
  void Compare(const std::vector<std::string>& lines) {
    Write("lines", lines);
    Write("some", {lines.begin(), lines.begin() + 300});  // training on all takes a minute
    const std::string train = "spm_train --minloglevel=2 --input=" + Path("some") +
                              " --model_prefix=" + Path("m") + " " + GetParam() + " 2>" +
                              Path("log");
    ASSERT_EQ(std::system(train.c_str()), 0) << train;
    const std::string encode = "spm_encode --model=" + Path("m.model") + " --output_format=id <" +
                               Path("lines") + " >" + Path("ids") + " 2>>" + Path("log");
    ASSERT_EQ(std::system(encode.c_str()), 0) << encode;
    std::ostringstream bytes;
    bytes << std::ifstream(Path("m.model"), std::ios::binary).rdbuf();
    const auto tokenizer = Tokenizer::Create(bytes.str());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    std::ifstream theirs(Path("ids"));
    Tokenizer::Scratch scratch;
    size_t unlike = 0;
    for (const std::string& line : lines) {
      std::string expected;
      ASSERT_TRUE(std::getline(theirs, expected));
      std::vector<int32_t> ids;
      tokenizer->Encode(line, scratch, ids);
      std::string ours;
      for (const int32_t id : ids) ours += (ours.empty() ? "" : " ") + std::to_string(id);
      if (ours != expected && ++unlike < 5)
        ADD_FAILURE() << line << "\n" << ours << "\n" << expected;
    }
    EXPECT_EQ(unlike, 0u) << "of " << lines.size() << " lines";
  }

  std::filesystem::path folder_;
};

TEST_P(AgainstSpm, MadeUpLinesWithEverythingInThem) {
  const std::vector<std::string> parts = {"water",
                                          "wheel",
                                          "race",
                                          "mill",
                                          "stone",
                                          "The",
                                          "mill's",
                                          "don\xe2\x80\x99t",
                                          "caf\xc3\xa9",
                                          "cafe\xcc\x81",
                                          "\xef\xbc\xa1\xef\xbc\xa2",
                                          "\xe2\x91\xa0",
                                          "\xc2\xa8",
                                          "\xc2\xa0",
                                          "\t",
                                          "  ",
                                          "\xe6\xb0\xb4\xe8\xbb\x8a",
                                          "3.14",
                                          "$1,000",
                                          "<sep>",
                                          "<se",
                                          "\xe2\x96\x81",
                                          "\xf0\x9f\x92\xa7",
                                          "\xe2\x80\x8b",
                                          "\x01",
                                          "a\xe3\x80\x80"
                                          "b",
                                          "\xef\xac\x81sh",
                                          "x=3*4;"};
  std::mt19937 random(7);
  std::vector<std::string> lines;
  for (int i = 0; i < 3000; ++i) {
    std::string line;
    for (size_t words = random() % 12; words > 0; --words) {
      line += parts[random() % parts.size()];
      if (random() % 4 != 0) line += ' ';
    }
    lines.push_back(line);
  }
  Compare(lines);
}

TEST_P(AgainstSpm, RealQuestionsAndAnswers) {
  const std::string path = SharedData() + "/text/gsm8k-train.jsonl";
  std::ifstream file(path);
  if (SharedData().empty() || !file) GTEST_SKIP() << path << " is not there";
  std::vector<std::string> lines;  // JSON and all
  for (std::string line; std::getline(file, line);) lines.push_back(line.substr(0, 4000));
  Compare(lines);
}

INSTANTIATE_TEST_SUITE_P(
    Models, AgainstSpm,
    testing::Values(
        "--model_type=unigram --vocab_size=150 --hard_vocab_limit=false",
        "--model_type=unigram --vocab_size=2000 --hard_vocab_limit=false --byte_fallback=true "
        "--user_defined_symbols='<sep>'",
        "--model_type=bpe --vocab_size=170 --user_defined_symbols='<sep>' "
        "--character_coverage=0.99",
        "--model_type=bpe --vocab_size=380 --byte_fallback=true "
        "--normalization_rule_name=identity "
        "--remove_extra_whitespaces=false",
        "--model_type=unigram --vocab_size=160 --hard_vocab_limit=false "
        "--treat_whitespace_as_suffix=true "
        "--normalization_rule_name=nfkc_cf"));

}  // namespace
}  // namespace headrace
