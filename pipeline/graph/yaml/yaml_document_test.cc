#include "pipeline/graph/yaml/yaml_document.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "pipeline/graph/utf8.h"
#include "pipeline/graph/yaml/percent.h"

namespace headrace {
namespace {

// The value that `text` stands for as `v: text`.
v1::Value ValueOf(const std::string& text) {
  YamlDocument document = YamlDocument::Parse("v: " + text, "t.yaml").value();
  return document.Value(document.Entries(document.root(), "it").value()[0].value).value();
}

std::string ErrorOf(const std::string& text) {
  absl::StatusOr<YamlDocument> document = YamlDocument::Parse(text, "t.yaml");
  if (!document.ok()) return std::string(document.status().message());
  const absl::StatusOr<v1::Value> value = document->Value(document->root());
  return value.ok() ? "OK" : std::string(value.status().message());
}

TEST(YamlDocumentTest, ScalarsHaveTheTypesOfYaml12) {
  for (const char* word : {"", "~", "null", "Null", "NULL", "!!null null"}) {
    EXPECT_EQ(ValueOf(word).kind_case(), v1::Value::kNone) << word;
  }
  EXPECT_TRUE(ValueOf("True").boolean());
  EXPECT_EQ(ValueOf("false").kind_case(), v1::Value::kBoolean);
  EXPECT_EQ(ValueOf("-12").integer(), -12);
  EXPECT_EQ(ValueOf("+12").integer(), 12);
  EXPECT_EQ(ValueOf("007").integer(), 7);
  EXPECT_EQ(ValueOf("0x1F").integer(), 31);
  EXPECT_EQ(ValueOf("0o17").integer(), 15);
  EXPECT_EQ(ValueOf("-9223372036854775808").integer(), INT64_MIN);
  EXPECT_EQ(ValueOf("1e3").number(), 1000.0);
  EXPECT_EQ(ValueOf("-.5").number(), -0.5);
  EXPECT_EQ(ValueOf("3.").number(), 3.0);
  EXPECT_EQ(ValueOf("-.inf").number(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(ValueOf(".nan").number()));
  for (const char* word : {"yes", "on", "n", "10_000", "1e", "0x", "1.2.3", "inf", "+-1", "'5'",
                           "\"null\"", "!!str 5"}) {
    EXPECT_EQ(ValueOf(word).kind_case(), v1::Value::kText) << word;
  }
  EXPECT_EQ(ValueOf("\"a\\tb\\x00c\"").text(), std::string("a\tb\0c", 5));
  EXPECT_EQ(ValueOf("!!binary aGn/").text(), "hi\xFF");
  EXPECT_EQ(ValueOf("!!int \"5\"").integer(), 5);
}

TEST(YamlDocumentTest, WrongTextsAreRefusedWithTheirPlace) {
  EXPECT_EQ(ErrorOf("a: 9223372036854775808"),
            "t.yaml:1:4: the integer 9223372036854775808 does not fit into 64 bits");
  EXPECT_EQ(
      ErrorOf("a: !foo b"),
      "t.yaml:1:4: unknown tag '!foo'; known: !!str, !!binary, !!null, !!bool, !!int, !!float");
  EXPECT_EQ(ErrorOf("a: !!int b"), "t.yaml:1:4: 'b' is not of the type that its tag !!int says");
  EXPECT_EQ(ErrorOf("a: !!binary '*'"), "t.yaml:1:4: !!binary is followed by base64, this is not");
  EXPECT_EQ(ErrorOf("a: 1\nb: {c: 1, c: 2}"), "t.yaml:2:11: 'c' is given twice in the map");
  EXPECT_EQ(ErrorOf("a: {[b]: 1}"), "t.yaml:1:5: a name in the map must be a word");
  EXPECT_EQ(ErrorOf("a:\n\tb: 1"),
            "t.yaml:2:1: a tab in the indentation; YAML indents with spaces");
  EXPECT_EQ(ErrorOf("a: {b"), "t.yaml:1:1: end of map flow not found");
  EXPECT_EQ(ErrorOf("a: *b"), "t.yaml:1:4: the referenced anchor is not defined");
  EXPECT_EQ(ErrorOf("a: 1\n---\nb: 1"), "t.yaml:2:1: a second document; a file holds one pipeline");
  EXPECT_EQ(ErrorOf(", a"), "t.yaml:1:1: this is no YAML");
  EXPECT_EQ(ErrorOf("a: \xFF"), "t.yaml: byte 3 is not UTF-8 text; save the file as UTF-8");
  EXPECT_EQ(ErrorOf(std::string("a\0b", 3)),
            "t.yaml: byte 1 is not UTF-8 text; save the file as UTF-8");
  for (const char* empty : {"", "\n", "# only this\n", "---\n", "~"}) {
    EXPECT_EQ(ErrorOf(empty),
              "t.yaml: empty; a pipeline begins with `source: {files: ..., format: ...}`")
        << empty;
  }
}

TEST(YamlDocumentTest, WhatIsTooBigIsRefused) {
  const absl::StatusOr<YamlDocument> big =
      YamlDocument::Parse("# " + std::string(1 << 20, 'x'), "t.yaml");
  EXPECT_EQ(big.status().message(), "t.yaml: 1048578 bytes; a pipeline has at most 1048576");
  EXPECT_EQ(big.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ErrorOf("a: &a [*a]"), "t.yaml:1:4: nested more than 32 deep");
  std::string laughs = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) laughs += "*a" + std::to_string(i - 1) + (j < 9 ? ", " : "]\n");
  }
  EXPECT_EQ(
      ErrorOf(laughs),
      "t.yaml:1:5: the pipeline expands to more than 100000 values (aliases inside aliases?)");
  EXPECT_EQ(ErrorOf("a: " + std::string(5000, '[')), "t.yaml:1:1: nested too deep");
  std::string keys;
  for (int i = 0; i < 90'000; ++i) keys += std::to_string(i) + ":\n";
  EXPECT_EQ(
      ErrorOf(keys),
      "t.yaml:10000:1: the pipeline expands to more than 100000 values (aliases inside aliases?)");
}

TEST(YamlDocumentTest, MergeKeysFillInWhatIsNotGiven) {
  EXPECT_EQ(ErrorOf("a: {<<: 5}"),
            "t.yaml:1:9: what '<<' merges into the map is a map of name: value");
  YamlDocument document =
      YamlDocument::Parse("x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nv: {<<: [*x, *y], a: 0}",
                          "t.yaml")
          .value();
  const std::vector<YamlEntry> all = document.Entries(document.root(), "it").value();
  const v1::Value value = document.Value(all[2].value).value();
  std::string seen;
  for (const v1::NamedValue& entry : value.map().entries()) {
    seen += entry.name() + std::to_string(entry.value().integer()) + " ";
  }
  EXPECT_EQ(seen, "a0 b2 c4 ");
}

TEST(PercentTest, APercentageIsItsFractionAndBack) {
  EXPECT_EQ(FractionFromPercent("0.1%"), 0.001);
  EXPECT_EQ(FractionFromPercent("7%"), 0.07);
  EXPECT_EQ(FractionFromPercent("100 %"), 1.0);
  for (const char* wrong : {"%", ".%", "-1%", "1e2%", "1.2.3%", "1", "nan%", ""}) {
    EXPECT_EQ(FractionFromPercent(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(PercentFromFraction(0.001), "0.1%");
  EXPECT_EQ(PercentFromFraction(0.07), "7%");
  EXPECT_EQ(PercentFromFraction(1), "100%");
  EXPECT_EQ(PercentFromFraction(0.12345), "12.345%");
  EXPECT_EQ(PercentFromFraction(1e-7), "0.00001%");
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const double fraction = std::generate_canonical<double, 53>(random);
    ASSERT_EQ(FractionFromPercent(PercentFromFraction(fraction)), fraction)
        << PercentFromFraction(fraction);
  }
}

TEST(Utf8Test, WhatIsNoTextIsFound) {
  EXPECT_EQ(FirstNonUtf8("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\x8E"),
            std::string_view::npos);
  for (const char* wrong :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5", "\x80", "\xC3"}) {
    EXPECT_EQ(FirstNonUtf8(std::string("ab") + wrong), 2u) << wrong;
  }
  EXPECT_EQ(FirstNonText("a\tb\x01"), 3u);
  EXPECT_EQ(FirstNonUtf8("a\tb\x01"), std::string_view::npos);
}

}  // namespace
}  // namespace headrace
