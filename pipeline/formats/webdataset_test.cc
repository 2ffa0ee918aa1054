#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/test_data.h"
#include "pipeline/formats/reading/member_name.h"
#include "pipeline/formats/testing/archives.h"
#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/memory_file_system.h"
#include "pipeline/sources/testing/compress.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing_sources::Gzip;
using testing_sources::Zstd;
using namespace testing_formats;  // NOLINT: a test's own vocabulary

std::string Pax(std::string_view key, std::string_view value) {
  const std::string tail = " " + std::string(key) + "=" + std::string(value) + "\n";
  size_t length = tail.size() + 1;
  while (std::to_string(length).size() + tail.size() != length) ++length;
  return std::to_string(length) + tail;
}
const std::string kEnd(2 * kTarBlock, '\0');

class WebdatasetTest : public ::testing::Test {
 protected:
  ReadOutcome Read(const std::string& path, std::string_view bytes,
                   uint64_t target = SplitOptions().target_bytes, const ReadLimits& limits = {}) {
    files_.Put(path, bytes);
    return ReadFiles(*format_, files_, path, target, limits);
  }
  std::string SchemaOf(std::string_view bytes) {
    files_.Put("/s.tar", bytes);
    return format_->RecordSchema(files_, *files_.List("/s.tar"))->ToString();
  }

  MemoryFileSystem files_;
  std::unique_ptr<Format> format_ = NewFormat("webdataset");
  const std::string two_ = Member("d/a.jpg", "image a") + Member("d/a.cls", "1") +
                           Member("d/b.jpg", "image b") + Member("d/b.cls", "2");
};

TEST_F(WebdatasetTest, NeighboursOfOneBaseNameAreARecord) {
  EXPECT_EQ(SchemaOf(two_ + kEnd), "{__key__: bytes [], jpg: bytes [], cls: bytes []}");
  const ReadOutcome read = Read("/a.tar", two_ + kEnd);
  ASSERT_EQ(read.rows.size(), 2u) << read.Messages();
  EXPECT_THAT(read.rows[0].cells, ElementsAre("d/a", "image a", "1"));
  EXPECT_THAT(read.rows[1].cells, ElementsAre("d/b", "image b", "2"));
  // Members of one name that are no neighbours are two records.
  EXPECT_EQ(Read("/a.tar", two_ + two_ + kEnd).rows.size(), 4u);
}

TEST_F(WebdatasetTest, TheFieldParameterChoosesAndOrders) {
  format_ = NewFormat("webdataset", {{"fields", ToValue(std::vector<std::string>{"CLS"})}});
  EXPECT_EQ(SchemaOf(two_), "{__key__: bytes [], cls: bytes []}");
  EXPECT_THAT(Read("/a.tar", two_ + kEnd).rows.at(1).cells, ElementsAre("d/b", "2"));
  EXPECT_FALSE(
      MakeFormat("webdataset", {{"fields", ToValue(std::vector<std::string>{"jpg", "JPG"})}}).ok());
  EXPECT_FALSE(
      MakeFormat("webdataset", {{"fields", ToValue(std::vector<std::string>{"__key__"})}}).ok());
  EXPECT_FALSE(MakeFormat("webdataset", {{"missing", ToValue(std::string("no"))}}).ok());
}

TEST_F(WebdatasetTest, AMissingFieldFailsTheRecordOrIsEmpty) {
  const std::string bytes =
      two_ + Member("d/c.cls", "3") + Member("d/e.jpg", "e") + Member("d/e.cls", "4") + kEnd;
  const ReadOutcome read = Read("/a.tar", bytes);
  EXPECT_THAT(read.Column(), ElementsAre("d/a", "d/b", "d/e"));
  ASSERT_EQ(read.failures.size(), 1u);
  EXPECT_EQ(read.failures[0].record, (headrace::Run{0, 2, 1}));
  EXPECT_THAT(read.Messages(), AllOf(HasSubstr("/a.tar: byte 4096, record 2 "),
                                     HasSubstr("'d/c' has no field 'jpg'"), HasSubstr("it has cls"),
                                     HasSubstr("missing: empty")));
  format_ = NewFormat("webdataset", {{"missing", ToValue(std::string("empty"))}});
  EXPECT_THAT(Read("/a.tar", bytes).rows.at(2).cells, ElementsAre("d/c", "", "3"));
}

TEST_F(WebdatasetTest, OddNamesAreHandledAsWebdatasetDoes) {
  struct Case {
    const char* name;
    const char* key;  // nullptr: belongs to no record
    const char* extension;
  };
  const Case cases[] = {{"a.jpg", "a", "jpg"},
                        {"./a.jpg", "./a", "jpg"},
                        {"a.seg.png", "a", "seg.png"},
                        {"v1.0/a.jpg", "v1.0/a", "jpg"},
                        {"two words.jpg", "two words", "jpg"},
                        {"\xff\xfe.jpg", "\xff\xfe", "jpg"},
                        {"noextension", nullptr, nullptr},
                        {"v1.0/noextension", nullptr, nullptr},
                        {".hidden.jpg", nullptr, nullptr},
                        {"d/._a.jpg", nullptr, nullptr},
                        {"trailing.", nullptr, nullptr},
                        {"d/", nullptr, nullptr},
                        {"", nullptr, nullptr},
                        {"__meta__/a.jpg", nullptr, nullptr},
                        {"__a.jpg", "__a", "jpg"}};
  for (const Case& c : cases) {
    const auto name = SplitMemberName(c.name);
    ASSERT_EQ(name.has_value(), c.key != nullptr) << c.name;
    if (!name) continue;
    EXPECT_EQ(name->key, c.key);
    EXPECT_EQ(name->extension, c.extension);
  }
  const std::string bytes = Member("d/", "", '5') + Member("d/\xff\xfe x.JPG", "image") +
                            Member("d/README", "text") + Member("d/._\xff\xfe x.jpg", "mac") +
                            Member("d/link.jpg", "", '2') + Member("d/\xff\xfe x.Cls", "7") + kEnd;
  const ReadOutcome read = Read("/a.tar", bytes);
  ASSERT_EQ(read.rows.size(), 1u) << read.Messages();
  EXPECT_THAT(read.rows[0].cells, ElementsAre("d/\xff\xfe x", "image", "7"));
}

TEST_F(WebdatasetTest, LongNamesOfEveryKind) {
  const std::string folder(140, 'f');
  std::string ustar = Member("a.jpg", "1");
  std::memcpy(ustar.data() + 345, folder.data(), 140);
  uint64_t sum = 8 * ' ';
  for (size_t i = 0; i < kTarBlock; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(ustar[i]);
  }
  std::snprintf(ustar.data() + 148, 7, "%06o", static_cast<unsigned>(sum));
  const std::string pax =
      Member("PaxHeader", Pax("mtime", "1.5") + Pax("path", folder + "/b.jpg"), 'x');
  const ReadOutcome read =
      Read("/a.tar", ustar + pax + Member("short", "2") + LongNameMember(folder + "/c.jpg", "3") +
                         Member("e.jpg", "4") + kEnd);
  ASSERT_EQ(read.rows.size(), 4u) << read.Messages();
  EXPECT_THAT(read.Column(), ElementsAre(folder + "/a", folder + "/b", folder + "/c", "e"));
  EXPECT_THAT(read.Column(1), ElementsAre("1", "2", "3", "4"));
}

TEST_F(WebdatasetTest, PaxSizesAndGlobalHeaders) {
  // The header's own size field says 0, the pax header says 5.
  const std::string pax = Member("PaxHeader", Pax("size", "5"), 'x') + Member("a.txt", "") +
                          std::string("12345") + std::string(kTarBlock - 5, '\0');
  const std::string comment = Member("pax_global_header", Pax("comment", "a commit"), 'g');
  const ReadOutcome read = Read("/a.tar", comment + pax + Member("b.txt", "6") + kEnd, 1);
  EXPECT_THAT(read.Column(1), ElementsAre("12345", "6"));
}

TEST_F(WebdatasetTest, SplitsOfAnySizeGiveTheSameRecords) {
  std::string bytes;
  for (size_t i = 0; i < 500; ++i) {
    const std::string key = std::string(i % 3 == 0 ? 120 : 5, 'k') + std::to_string(i);
    bytes += Member("folder" + std::to_string(i) + "/", "", '5');
    bytes += LongNameMember(key + ".jpg", std::string(i * 67 % 3000, 'x'));
    bytes += Member("skipped", "no record");
    bytes += LongNameMember(key + ".json", "{}");
  }
  bytes += kEnd;
  const ReadOutcome whole = Read("/a.tar", bytes);
  EXPECT_EQ(whole.rows.size(), 500u) << whole.Messages();
  for (uint64_t target : {1u, 10'000u, 500'000u}) {
    const ReadOutcome read = Read("/a.tar", bytes, target, {.max_rows = 7, .max_bytes = 20'000});
    EXPECT_EQ(read.Column(0), whole.Column(0)) << target;
    EXPECT_EQ(read.Column(1), whole.Column(1)) << target;
    EXPECT_TRUE(read.failures.empty()) << read.Messages();
  }
  EXPECT_GT(SplitsOf(*format_, files_, "/a.tar", 10'000).size(), 50u);
  // Compressed: one split.
  EXPECT_EQ(Read("/a.tgz", Gzip(bytes), 100).Column(1), whole.Column(1));
  EXPECT_EQ(Read("/a.tar.zst", Zstd(bytes), 100).Column(1), whole.Column(1));
  EXPECT_EQ(SplitsOf(*format_, files_, "/a.tgz", 100).size(), 1u);
}

TEST_F(WebdatasetTest, AnArchiveCutAnywhereLosesNoWholeRecordInSilence) {
  const std::string whole =
      two_ + Member("d/c.jpg", std::string(700, 'c')) + Member("d/c.cls", "3");
  for (size_t cut = two_.size() + 1; cut < whole.size(); ++cut) {
    const ReadOutcome read = Read("/a.tar", whole.substr(0, cut));
    EXPECT_THAT(read.Column(), testing::Contains("d/a"));
    EXPECT_THAT(read.Column(), testing::Contains("d/b"));
    if (read.rows.size() == 3) continue;  // the cut is in the last padding
    ASSERT_EQ(read.failures.size(), 1u) << cut;
    EXPECT_EQ(read.failures[0].record.first, 2u);
    EXPECT_THAT(read.Messages(), HasSubstr("/a.tar: byte ")) << cut;
  }
  const ReadOutcome read = Read("/a.tar", whole.substr(0, two_.size() + 600));
  EXPECT_TRUE(read.lost);
  EXPECT_THAT(read.Messages(),
              AllOf(HasSubstr("/a.tar: byte 4096, record 2 "), HasSubstr("cut off")));
  // In a member that no field asks for: the cut is told as well.
  EXPECT_TRUE(Read("/a.tar", two_ + Member("README", "12345").substr(0, 514)).lost);
}

TEST_F(WebdatasetTest, ADamagedHeaderKeepsTheRecordsBefore) {
  std::string bytes = two_ + Member("d/c.jpg", "c") + Member("d/c.cls", "3") + kEnd;
  bytes[two_.size() + 3] ^= 1;
  const ReadOutcome read = Read("/a.tar", bytes);
  EXPECT_THAT(read.Column(), ElementsAre("d/a", "d/b"));
  EXPECT_TRUE(read.lost);
  EXPECT_THAT(read.Messages(), AllOf(HasSubstr("/a.tar: byte 4096, record 2 "),
                                     HasSubstr("checksum of a tar header")));
}

TEST_F(WebdatasetTest, OneExtensionTwiceOverTheLimitAndSparseFailTheirRecord) {
  std::string bytes = Member("a.jpg", "1") + Member("a.JPG", "2") +
                      Member("b.jpg", std::string(5000, 'b')) + Member("c.jpg", "3", 'S') +
                      Member("e.jpg", "4") + kEnd;
  const ReadOutcome read = Read("/a.tar", bytes, 1ull << 40, {.max_record_bytes = 4000});
  EXPECT_THAT(read.Column(), ElementsAre("e"));
  ASSERT_EQ(read.failures.size(), 3u);
  EXPECT_EQ(read.failures[1].status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(read.Messages(),
              AllOf(HasSubstr("two members of 'a'"), HasSubstr("/a.tar: byte 2048, record 1 "),
                    HasSubstr("sparse")));
}

TEST_F(WebdatasetTest, ACutOffCompressedArchiveNamesTheCompressedOffset) {
  std::string bytes;
  for (int i = 0; i < 20'000; ++i)
    bytes += Member(std::to_string(i) + ".txt", std::to_string(i * 7919));
  const std::string whole = Gzip(bytes);
  const ReadOutcome read = Read("/a.tgz", whole.substr(0, whole.size() / 2));
  EXPECT_TRUE(read.lost);
  EXPECT_GT(read.rows.size(), 1000u);
  EXPECT_THAT(read.Messages(), HasSubstr("compressed byte " + std::to_string(whole.size() / 2)));
}

TEST_F(WebdatasetTest, EmptyArchivesKeepTheSchemaOfTheOthers) {
  files_.Put("/d/0.tar", "");
  files_.Put("/d/1.tar", kEnd);
  files_.Put("/d/2.tar", two_ + kEnd);
  const ReadOutcome read = ReadFiles(*format_, files_, "/d");
  EXPECT_THAT(read.Column(), ElementsAre("d/a", "d/b"));
  EXPECT_EQ(SchemaOf(kEnd), "{__key__: bytes []}");
}

TEST_F(WebdatasetTest, RealArchivesOfTheProjectReadWhole) {
  const std::string shared = SharedData();
  if (shared.empty()) GTEST_SKIP() << "no shared data (set HEADRACE_SHARED_DATA)";
  auto files = NewLocalFileSystem();
  const std::tuple<const char*, const char*, size_t> expected[] = {
      {"tendata.tar", "{__key__: bytes [], ten: bytes []}", 100},
      {"mpdata.tar", "{__key__: bytes [], mp: bytes []}", 100},
      {"compressed.tar", "{__key__: bytes [], txt.gz: bytes []}", 3},
      {"sample.tgz", "{__key__: bytes [], cls: bytes [], png: bytes []}", 90}};
  for (const auto& [name, schema, records] : expected) {
    const std::string path = shared + "/webdataset/" + name;
    const ReadOutcome read = ReadFiles(*format_, *files, path);
    EXPECT_EQ(read.rows.size(), records) << name;
    EXPECT_TRUE(read.failures.empty()) << read.Messages();
    EXPECT_EQ(format_->RecordSchema(*files, *files->List(path))->ToString(), schema);
    EXPECT_EQ(ReadFiles(*format_, *files, path, 1).Column(), read.Column());
  }
}

}  // namespace
}  // namespace headrace
