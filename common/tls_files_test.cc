#include "common/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string FileOf(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/tls_files_test_" + name;
  std::ofstream(path) << text;
  return path;
}

std::string ErrorOf(const TlsFiles& files, bool server) {
  return std::string(ReadPem(files, server).status().message());
}

TEST(TlsFilesTest, AFileThatIsNotThereOrNoPemIsNamedWithItsKey) {
  const std::string pem = FileOf("good.pem", "-----BEGIN CERTIFICATE-----\n");
  const std::string junk = FileOf("junk.pem", "hunter2");
  EXPECT_THAT(ErrorOf({.cert = "/no/such.pem", .key = pem}, true),
              HasSubstr("tls.cert: /no/such.pem: No such file"));
  EXPECT_THAT(ErrorOf({.cert = pem, .key = junk}, true), HasSubstr("tls.key: " + junk));
  EXPECT_THAT(ErrorOf({.cert = pem, .key = junk}, true), testing::Not(HasSubstr("hunter2")));
  EXPECT_TRUE(ReadPem({.cert = pem, .key = pem, .ca = pem}, true).ok());
}

TEST(TlsFilesTest, WhatGoesTogetherIsAskedForTogether) {
  const std::string pem = FileOf("good.pem", "-----BEGIN CERTIFICATE-----\n");
  EXPECT_THAT(ErrorOf({.cert = pem}, false), HasSubstr("tls.key"));
  EXPECT_THAT(ErrorOf({.key = pem}, false), HasSubstr("tls.cert"));
  EXPECT_THAT(ErrorOf({.ca = pem}, true), HasSubstr("tls.cert"));
  EXPECT_TRUE(ReadPem({.ca = pem}, false).ok());
}

}  // namespace
}  // namespace headrace
