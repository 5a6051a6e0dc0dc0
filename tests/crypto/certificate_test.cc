#include "crypto/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace partita::crypto::certificate_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using testing::HasSubstr;

class CertificateFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "partita-cert-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

std::string Contents(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

template <typename Call>
Error ErrorOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::kInternal, "none");
}

TEST(CertificateTest, SaysWhatItIs) {
  for (KeyKind kind : {KeyKind::kEd25519, KeyKind::kP256}) {
    const Identity identity = MakeIdentity({.name = "north", .days = 30, .kind = kind});
    const CertificateInfo info = Describe(*identity.certificate);
    EXPECT_EQ(info.name, "north");
    EXPECT_EQ(info.fingerprint.size(), 64u);
    EXPECT_EQ(info.fingerprint, Fingerprint(*identity.certificate));
    EXPECT_LT(info.valid_from, info.valid_until);
    EXPECT_EQ(X509_verify(identity.certificate.get(), identity.key.get()), 1);
    EXPECT_EQ(X509_check_purpose(identity.certificate.get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
    EXPECT_EQ(X509_check_purpose(identity.certificate.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
    EXPECT_EQ(X509_check_ca(identity.certificate.get()), 0);
    EXPECT_EQ(CertificateProblem(*identity.certificate, "north", info.fingerprint), std::nullopt);
  }
}

// The fingerprint is SHA-256 over the DER form, as every other tool shows it.
TEST(CertificateTest, FingerprintIsTheStandardOne) {
  const Identity identity = MakeIdentity({.name = "north"});
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ASSERT_EQ(X509_digest(identity.certificate.get(), EVP_sha256(), digest, &size), 1);
  EXPECT_EQ(Fingerprint(*identity.certificate), ToHex({digest, size}));
}

TEST(CertificateTest, EveryKeyAndSerialIsNew) {
  const Identity a = MakeIdentity({.name = "north"}), b = MakeIdentity({.name = "north"});
  EXPECT_NE(Fingerprint(*a.certificate), Fingerprint(*b.certificate));
  EXPECT_NE(EVP_PKEY_eq(a.key.get(), b.key.get()), 1);
  EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(a.certificate.get()),
                             X509_get0_serialNumber(b.certificate.get())),
            0);
}

TEST(CertificateTest, ProblemsAreNamed) {
  auto problem = [](const CertificateRequest& request, std::string_view name) {
    const Identity identity = MakeIdentity(request);
    return CertificateProblem(*identity.certificate, name, Fingerprint(*identity.certificate))
        .value_or("none");
  };
  EXPECT_EQ(problem({.name = "north"}, "north"), "none");
  EXPECT_THAT(problem({.name = "north"}, "south"), HasSubstr("not made out to 'south'"));
  EXPECT_THAT(problem({.name = "north", .days = 1, .start = hours(-25)}, "north"),
              HasSubstr("expired on"));
  EXPECT_THAT(problem({.name = "north", .start = hours(1)}, "north"), HasSubstr("valid only from"));
  const Identity identity = MakeIdentity({.name = "north"});
  EXPECT_THAT(*CertificateProblem(*identity.certificate, "north", std::string(64, 'a')),
              HasSubstr("the roster says aaaa"));
}

// A name with a NUL must not pass for the part before it, nor one of two names for the only one.
TEST(CertificateTest, NamesAreComparedWhole) {
  auto with_names = [](const std::vector<std::string>& dns) {
    Identity identity = MakeIdentity({.name = "north"});
    X509* certificate = identity.certificate.get();
    X509_EXTENSION_free(
        X509_delete_ext(certificate, X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1)));
    GENERAL_NAMES* names = sk_GENERAL_NAME_new_null();
    for (const std::string& text : dns) {
      ASN1_IA5STRING* string = ASN1_IA5STRING_new();
      ASN1_STRING_set(string, text.data(), static_cast<int>(text.size()));
      GENERAL_NAME* name = GENERAL_NAME_new();
      GENERAL_NAME_set0_value(name, GEN_DNS, string);
      sk_GENERAL_NAME_push(names, name);
    }
    X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT);
    GENERAL_NAMES_free(names);
    X509_sign(certificate, identity.key.get(), nullptr);
    return CertificateProblem(*certificate, "north", Fingerprint(*certificate)).has_value();
  };
  EXPECT_FALSE(with_names({"north"}));
  EXPECT_TRUE(with_names({}));
  EXPECT_TRUE(with_names({std::string("north\0.example", 14)}));
  EXPECT_TRUE(with_names({"north", "south"}));
  EXPECT_TRUE(with_names({"*"}));
  EXPECT_TRUE(with_names({"north."}));
}

TEST(CertificateTest, BadRequests) {
  for (const char* name :
       {"", "a b", "a/b", "DNS:x,IP", "n\xc3\xb6rd", "*", "North", "n.s", "n_s", "-north"}) {
    EXPECT_EQ(ErrorOf([&] { MakeIdentity({.name = name}); }).code(), ErrorCode::kUsage) << name;
  }
  EXPECT_EQ(ErrorOf([] { MakeIdentity({.name = std::string(33, 'a')}); }).code(),
            ErrorCode::kUsage);
  EXPECT_EQ(ErrorOf([] { MakeIdentity({.name = "a", .days = 0}); }).code(), ErrorCode::kUsage);
  EXPECT_EQ(ErrorOf([] { MakeIdentity({.name = "a", .days = 9999}); }).code(), ErrorCode::kUsage);
}

// What `cert new` accepts is what a study file accepts.
TEST(CertificateTest, PartyNames) {
  for (const char* name : {"a", "0", "north-2", "a-", "abcdefghijklmnopqrstuvwxyz012345"}) {
    EXPECT_TRUE(IsPartyName(name)) << name;
  }
}

TEST(CertificateTest, OthersAreNoPartyCertificates) {
  CertificateInfo info = Describe(*MakeIdentity({.name = "north"}).certificate);
  EXPECT_NO_THROW(RequirePartyCertificate(info, "cert.pem"));
  for (const char* name : {"", "www.example.org"}) {
    info.name = name;
    const Error error = ErrorOf([&] { RequirePartyCertificate(info, "web.pem"); });
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_EQ(error.message(), "web.pem is not a Partita certificate");
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(CertificateTest, NormalFingerprints) {
  const std::string plain(64, 'a');
  EXPECT_EQ(NormalFingerprint(plain), plain);
  EXPECT_EQ(NormalFingerprint(std::string(64, 'A')), plain);
  std::string colons = "AA";
  for (int i = 1; i < 32; ++i) colons += ":AA";
  EXPECT_EQ(NormalFingerprint(colons), plain);
  EXPECT_EQ(NormalFingerprint(std::string(62, 'a')), std::nullopt);
  EXPECT_EQ(NormalFingerprint(std::string(66, 'a')), std::nullopt);
  EXPECT_EQ(NormalFingerprint(std::string(63, 'a') + "g"), std::nullopt);
  EXPECT_EQ(NormalFingerprint(""), std::nullopt);
}

TEST_F(CertificateFileTest, SavesPrivatelyAndLoadsBack) {
  for (KeyKind kind : {KeyKind::kEd25519, KeyKind::kP256}) {
    const std::string stem = kind == KeyKind::kP256 ? "p" : "e";
    const Identity identity = MakeIdentity({.name = "north", .kind = kind});
    const fs::path certificate = folder_ / (stem + "cert.pem"), key = folder_ / (stem + "key.pem");
    const mode_t old = umask(0);
    SaveIdentity(identity, certificate, key);
    umask(old);
    struct stat status {};
    ASSERT_EQ(stat(key.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
    EXPECT_THAT(Contents(key), HasSubstr("BEGIN PRIVATE KEY"));
    EXPECT_THAT(Contents(certificate), testing::Not(HasSubstr("PRIVATE")));
    const Identity loaded = LoadIdentity(certificate, key);
    EXPECT_EQ(Fingerprint(*loaded.certificate), Fingerprint(*identity.certificate));
    EXPECT_EQ(EVP_PKEY_eq(loaded.key.get(), identity.key.get()), 1);
  }
}

TEST_F(CertificateFileTest, NeverOverwritesAndLeavesNoHalf) {
  const Identity identity = MakeIdentity({.name = "north"});
  const fs::path certificate = folder_ / "cert.pem", key = folder_ / "key.pem";
  std::ofstream(key) << "old";
  Error error = ErrorOf([&] { SaveIdentity(identity, certificate, key); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.hint(), HasSubstr("if you are sure that no roster uses it"));
  EXPECT_EQ(Contents(key), "old");
  EXPECT_FALSE(fs::exists(certificate));

  fs::remove(key);
  std::ofstream(certificate) << "old";
  error = ErrorOf([&] { SaveIdentity(identity, certificate, key); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_EQ(Contents(certificate), "old");
  EXPECT_FALSE(fs::exists(key));

  fs::remove(certificate);
  fs::create_symlink(folder_ / "elsewhere", key);  // must not be followed
  EXPECT_EQ(ErrorOf([&] { SaveIdentity(identity, certificate, key); }).code(), ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere"));
  EXPECT_EQ(ErrorOf([&] { SaveIdentity(identity, certificate, folder_ / "no" / "key"); }).code(),
            ErrorCode::kUsage);
}

TEST_F(CertificateFileTest, BadFilesAreNamed) {
  const Identity identity = MakeIdentity({.name = "north"});
  const fs::path certificate = folder_ / "cert.pem", key = folder_ / "key.pem";
  SaveIdentity(identity, certificate, key);
  SaveIdentity(MakeIdentity({.name = "north"}), folder_ / "other.pem", folder_ / "other.key");
  std::ofstream(folder_ / "junk.pem") << "-----BEGIN CERTIFICATE-----\nAAAA\n";
  std::ofstream(folder_ / "junk.key") << "junk";
  fs::permissions(folder_ / "junk.key", fs::perms::owner_read);

  auto load = [&](const char* cert_name, const char* key_name) {
    const Error error = ErrorOf([&] { LoadIdentity(folder_ / cert_name, folder_ / key_name); });
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  };
  EXPECT_THAT(load("missing.pem", "key.pem"), HasSubstr("missing.pem"));
  EXPECT_THAT(load("cert.pem", "missing.key"), HasSubstr("missing.key"));
  EXPECT_THAT(load("junk.pem", "key.pem"), HasSubstr("no certificate"));
  EXPECT_THAT(load("cert.pem", "junk.key"), HasSubstr("no private key"));
  EXPECT_THAT(load("key.pem", "key.pem"), HasSubstr("no certificate"));
  EXPECT_THAT(load("cert.pem", "other.key"), HasSubstr("does not belong"));
  fs::permissions(key, fs::perms::group_read, fs::perm_options::add);
  EXPECT_THAT(load("cert.pem", "key.pem"), HasSubstr("mode 0640"));
}

TEST_F(CertificateFileTest, KeyOfAnotherUserIsRefused) {
  const fs::path certificate = folder_ / "cert.pem", key = folder_ / "key.pem";
  SaveIdentity(MakeIdentity({.name = "north"}), certificate, key);
  struct stat status {};
  ASSERT_EQ(stat(key.c_str(), &status), 0);
  status.st_uid = 12345;
  const Error told = ErrorOf([&] { CheckKeyFile(status, 12346, key); });
  EXPECT_THAT(told.message(), HasSubstr("belongs to another user (number 12345)"));
  EXPECT_NO_THROW(CheckKeyFile(status, 12345, key));
  status.st_uid = 0;
  EXPECT_NO_THROW(CheckKeyFile(status, 12345, key));
  // Only the superuser can give a file away and see that loading looks at its owner.
  if (chown(key.c_str(), 12345, gid_t(-1)) != 0) return;
  const Error error = ErrorOf([&] { LoadIdentity(certificate, key); });
  EXPECT_EQ(error.code(), ErrorCode::kBadInput);
  EXPECT_THAT(error.message(), HasSubstr("belongs to another user (number 12345)"));
}

// For another process of the same party: as long as nothing is changed, the same pair.
TEST(CertificateTest, IdentitiesGoAsBytes) {
  const Identity own = MakeIdentity({.name = "north"}), other = MakeIdentity({.name = "north"});
  const Bytes bytes = EncodeIdentity(own);
  const Identity read = DecodeIdentity(bytes);
  EXPECT_EQ(Fingerprint(*read.certificate), Fingerprint(*own.certificate));
  EXPECT_EQ(EncodeIdentity(read), bytes);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(DecodeIdentity(ByteView(bytes).first(size)), Error) << size;
  const Identity mixed{own.certificate, other.key};
  EXPECT_EQ(ErrorOf([&] { DecodeIdentity(EncodeIdentity(mixed)); }).code(), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace partita::crypto::certificate_test
