#include "dispatcher/etcd/grpc_etcd_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "dispatcher/etcd/etcd_process.h"
#include "dispatcher/etcd/etcd_requests.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kWait = absl::Seconds(5);

std::string ErrorOf(const std::vector<std::string>& endpoints, const TlsFiles& tls = {}) {
  return DialEtcd(endpoints, tls, RealClock()).status().ToString();
}

TEST(DialEtcdTest, EndpointsAreChecked) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("journal.endpoints"));
  EXPECT_THAT(ErrorOf({"etcd"}), HasSubstr("'etcd'"));
  EXPECT_THAT(ErrorOf({"http://a:2379"}, {"", "", "/ca.pem"}), HasSubstr("https"));
  EXPECT_THAT(ErrorOf({"https://a:2379"}, {"", "", "/no/ca.pem"}), HasSubstr("/no/ca.pem"));
  EXPECT_TRUE(DialEtcd({"a:2379", "http://b:2379/"}, {}, RealClock()).ok());
  EXPECT_TRUE(DialEtcd({"https://a:2379"}, {}, RealClock()).ok());
}

TEST(GrpcEtcdClientTest, NobodyThereIsUnavailableAndNamed) {
  const auto etcd = DialEtcd({"127.0.0.1:1"}, {}, RealClock()).value();
  etcd::RangeRequest request;
  request.set_key("x");
  const absl::Status status = etcd->Range(request, kWait).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("127.0.0.1:1"));
  EXPECT_TRUE(EtcdClient::MayPass(status));
}

TEST(GrpcEtcdClientTest, WhatEtcdRefusesIsNotTriedAgain) {
  EXPECT_FALSE(EtcdClient::MayPass(absl::ResourceExhaustedError("mvcc: database space exceeded")));
  EXPECT_TRUE(EtcdClient::MayPass(absl::ResourceExhaustedError("etcdserver: too many requests")));
  EXPECT_FALSE(EtcdClient::MayPass(absl::InvalidArgumentError("request is too large")));
}

TEST(GrpcEtcdClientTest, ADeadMemberIsPassedOver) {
  HR_NEEDS_ETCD();
  EtcdProcess process;
  const auto etcd = DialEtcd({"127.0.0.1:1", process.endpoint()}, {}, RealClock()).value();
  etcd::RangeRequest request;
  request.set_key("x");
  EXPECT_TRUE(etcd->Range(request, kWait).ok());
}

TEST(GrpcEtcdClientTest, TransactionsLeasesAndRangesMeanWhatWeThink) {
  HR_NEEDS_ETCD();
  EtcdProcess process;
  const auto etcd = process.Dial();
  etcd::LeaseGrantRequest grant;
  grant.set_ttl(60);
  const auto lease = etcd->Grant(grant, kWait);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_EQ(lease->ttl(), 60);

  etcd::TxnRequest create;
  *create.add_compare() = IsAbsent("k");
  *create.add_success() = Put("k", "v", lease->id());
  *create.add_failure() = Get("k");
  const auto created = etcd->Txn(create, kWait);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_TRUE(created->succeeded());
  const auto again = etcd->Txn(create, kWait);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->succeeded());
  ASSERT_NE(KeyValueOf(*again, 0), nullptr);
  EXPECT_EQ(KeyValueOf(*again, 0)->create_revision(), created->header().revision());
  EXPECT_EQ(KeyValueOf(*again, 0)->lease(), lease->id());

  etcd::TxnRequest more;
  *more.add_compare() = CreatedAt("k", created->header().revision());
  *more.add_compare() = HasValue("k", "v");
  for (int i = 0; i < 5; ++i) *more.add_success() = Put(fmt::format("n/{}", i), "x");
  EXPECT_TRUE(etcd->Txn(more, kWait)->succeeded());
  etcd::RangeRequest range;
  range.set_key("n/");
  range.set_range_end(EndOfPrefix("n/"));
  range.set_limit(3);
  const auto page = etcd->Range(range, kWait);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->kvs_size(), 3);
  EXPECT_TRUE(page->more());
  etcd::TxnRequest drop;
  *drop.add_compare() = HasValue("k", "other");
  *drop.add_failure() = Delete("n/1", "n/4");
  const auto dropped = etcd->Txn(drop, kWait);
  EXPECT_EQ(dropped->responses(0).response_delete_range().deleted(), 3);

  etcd::LeaseKeepAliveRequest keep;
  keep.set_id(lease->id());
  const auto kept = etcd->KeepAlive(keep, kWait);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->ttl(), 60);
  etcd::LeaseRevokeRequest revoke;
  revoke.set_id(lease->id());
  EXPECT_TRUE(etcd->Revoke(revoke, kWait).ok());
  EXPECT_EQ(etcd->KeepAlive(keep, kWait)->ttl(), 0);
  range.set_key("k");
  range.clear_range_end();
  EXPECT_EQ(etcd->Range(range, kWait)->kvs_size(), 0);

  etcd::CompactionRequest compact;
  compact.set_revision(created->header().revision());
  EXPECT_TRUE(etcd->Compact(compact, kWait).ok());
  EXPECT_TRUE(absl::IsOutOfRange(etcd->Compact(compact, kWait).status()));
}

TEST(GrpcEtcdClientTest, AnEtcdThatHangsCostsTheTimeoutAndNoMore) {
  HR_NEEDS_ETCD();
  EtcdProcess process;
  const auto etcd = process.Dial();
  process.Send(SIGSTOP);
  etcd::LeaseKeepAliveRequest keep;
  keep.set_id(1);
  etcd::RangeRequest range;
  range.set_key("x");
  const absl::Time start = absl::Now();
  EXPECT_FALSE(etcd->KeepAlive(keep, absl::Milliseconds(300)).ok());
  EXPECT_FALSE(etcd->Range(range, absl::Milliseconds(300)).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  process.Send(SIGCONT);
  EXPECT_TRUE(etcd->Range(range, absl::Seconds(10)).ok());
}

}  // namespace
}  // namespace headrace
