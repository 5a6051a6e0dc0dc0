// Lists of clients, secret files and kept uploads: text and bytes from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "base/error.h"
#include "crypto/hash.h"
#include "run/simulate/temporary_folder.h"
#include "sums/service/admission_list.h"
#include "sums/service/box_key_file.h"
#include "sums/service/submit_upload.h"

namespace partita::sums::admission_test {
namespace {

using ::testing::HasSubstr;

const std::string kId(32, 'a'), kOther(32, 'b'), kKey(64, '1'), kOtherKey(64, '2');

void ExpectBadInput(const std::string& what, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "accepted: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr(what));
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(AdmissionListTest, ReadsWhatItWrites) {
  const std::string text = "partita clients tokens\n" + kId + " " + kKey +
                           " 2026-12-31T23:59:59Z\n" + kOther + " " + kOtherKey +
                           " 2030-01-01T00:00:00Z\n";
  const AdmissionList list = ParseAdmissionList(text, "f");
  EXPECT_EQ(list.admission, Admission::kTokens);
  ASSERT_EQ(list.clients.size(), 2U);
  EXPECT_EQ(FormatAdmissionList(list), text);
  const AdmissionList keys =
      ParseAdmissionList("partita clients registered\n\n# somebody\n" + kOther + " " + kOtherKey +
                             "\n" + kId + " " + kKey,
                         "f");
  EXPECT_EQ(ToHex(keys.clients.front().client), kId);  // sorted
}

TEST(AdmissionListTest, AMissingListIsMadeByRegistering) {
  const run::TemporaryFolder folder;
  try {
    LoadAdmissionList(folder.path() / "clients.txt");
    ADD_FAILURE() << "read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.hint(), HasSubstr("partita client register"));
  }
}

TEST(AdmissionListTest, MistakesAreFoundWithTheirLine) {
  const std::string head = "partita clients registered\n";
  const auto refused = [](const std::string& text, const std::string& what) {
    ExpectBadInput(what, [&] { ParseAdmissionList(text, "f"); });
  };
  refused("", "f:1: this is no list");
  refused("partita clients anyone\n", "f:1: this is no list");
  refused("partita clients registered\r\n", "f:1: this is no list");
  refused(head + kId + "\n", "f:2: this line names no client");
  refused(head + kId + " " + kKey + "0\n", "f:2:");
  refused(head + "\n" + kId + "  " + kKey + "\n", "f:3:");
  refused(head + kId + " " + kKey + " \n" + kId + " " + kKey + " 1\n", "f:3:");
  refused(head + std::string(32, 'G') + " " + kKey + "\n", "f:2:");
  refused(head + kId + " " + kKey + "\n" + kId + " " + kKey + "\n", "is there twice");
  refused(head + kId + " " + kKey + "\n" + kOther + " " + kKey + "\n",
          "f: clients " + kId + " and " + kOther + " have the same credential");
  refused("partita clients tokens\n" + kId + " " + kKey + "\n", "f:2:");
  refused("partita clients tokens\n" + kId + " " + kKey + " tomorrow\n", "f:2:");
}

// Points of low order, which any secret key takes to zero.
TEST(AdmissionListTest, KeysOfLowOrderAreRefusedByTheirClient) {
  for (const uint8_t first : {uint8_t{0}, uint8_t{1}}) {
    AdmittedClient client;
    client.client.fill(0xaa);
    client.credential[0] = first;
    AdmissionList list;
    ExpectBadInput("the key of client " + kId, [&] { Admit({client}, list); });
    EXPECT_TRUE(list.clients.empty());
    // In a list that somebody else wrote.
    list.clients = {client};
    CollectionFile collection;
    collection.contract.clients = 5;
    crypto::SystemRandom random;
    const crypto::BoxKeyPair box = crypto::MakeBoxKeyPair(random);
    ExpectBadInput("the key of client " + kId, [&] { MakeDirectory(collection, list, 0, box, 2); });
    // A digest, not a key.
    list.admission = Admission::kTokens;
    list.clients.clear();
    Admit({client}, list);
    EXPECT_EQ(list.clients.size(), 1U);
  }
}

TEST(AdmissionListTest, CredentialsAreComparedAndExpire) {
  AdmissionList list;
  list.admission = Admission::kTokens;
  AdmittedClient client;
  client.client[0] = 1;
  client.credential[31] = 7;
  client.valid_until = 1000;
  Admit({client}, list);
  EXPECT_THROW(Admit({client}, list), Error);
  AdmittedClient copied = client;
  copied.client[0] = 2;
  AdmissionList both = list;
  EXPECT_THROW(Admit({copied}, both), Error);
  std::array<uint8_t, 32> good{}, wrong{};
  good[31] = 7;
  EXPECT_EQ(CheckCredential(list, client.client, good, 1000), Credential::kGood);
  EXPECT_EQ(CheckCredential(list, client.client, good, 1001), Credential::kExpired);
  EXPECT_EQ(CheckCredential(list, client.client, wrong, 0), Credential::kWrong);
  EXPECT_EQ(CheckCredential(list, client.client, std::nullopt, 0), Credential::kMissing);
  EXPECT_EQ(CheckCredential(list, {}, good, 0), Credential::kUnknownClient);
  list.admission = Admission::kCertificates;
  EXPECT_EQ(CheckCredential(list, client.client, good, 1001), Credential::kGood);
  list.admission = Admission::kRegistered;
  EXPECT_EQ(CheckCredential(list, client.client, std::nullopt, 0), Credential::kGood);
}

TEST(SecretFileTest, KeysAndTokensComeBack) {
  const run::TemporaryFolder folder;
  crypto::SystemRandom random;
  const crypto::BoxKeyPair pair = crypto::MakeBoxKeyPair(random);
  const std::filesystem::path file = folder.path() / "box.key";
  SaveBoxKey(pair, file);
  EXPECT_EQ(LoadBoxKey(file).public_key, pair.public_key);
  EXPECT_THROW(SaveBoxKey(pair, file), Error);
  ::chmod(file.c_str(), 0644);
  ExpectBadInput("can be read by other users", [&] { LoadBoxKey(file); });
  ExpectBadInput("cannot open", [&] { LoadBoxKey(folder.path() / "none"); });
  ClientToken token;
  random.Fill(token.client);
  token.secret = crypto::RandomKey(random);
  SaveToken(token, folder.path() / "token");
  const ClientToken loaded = LoadToken(folder.path() / "token");
  EXPECT_EQ(loaded.client, token.client);
  EXPECT_EQ(BearerOf(loaded, "north"), BearerOf(token, "north"));
  EXPECT_NE(BearerOf(token, "north"), BearerOf(token, "south"));
  ExpectBadInput("no file of the kind", [&] { LoadBoxKey(folder.path() / "token"); });
  ExpectBadInput("no file of the kind",
                 [&] { ParseBoxKey("partita box key 1\nsecret " + kKey + "\n\n", "f"); });
  ExpectBadInput("no file of the kind",
                 [&] { ParseBoxKey("partita box key 1\nsecret " + kKey + "0\n", "f"); });
}

TEST(KeptUploadTest, AnyOtherBytesAreRefused) {
  KeptUpload upload;
  upload.epoch = 9;
  upload.client[3] = 4;
  upload.envelopes = {Bytes{1, 2, 3}, Bytes{}, Bytes(100, 7)};
  const Bytes bytes = EncodeUpload(upload);
  const KeptUpload parsed = ParseUpload(bytes);
  EXPECT_EQ(parsed.epoch, 9U);
  EXPECT_EQ(parsed.client, upload.client);
  EXPECT_EQ(parsed.envelopes, upload.envelopes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(ParseUpload(ByteView(bytes).first(size)), Error);
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_THROW(ParseUpload(longer), Error);
  // A length far beyond what is there.
  Bytes hostile = bytes;
  std::fill_n(hostile.begin() + 4 + 32 + 8 + 16 + 2, 8, uint8_t{0xff});
  EXPECT_THROW(ParseUpload(hostile), Error);
}

}  // namespace
}  // namespace partita::sums::admission_test
