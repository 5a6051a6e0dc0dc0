#include "crypto/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

namespace partita::crypto::signature_test {
namespace {

Identity Make(KeyKind kind) { return MakeIdentity({.name = "north", .kind = kind}); }

class SignatureTest : public testing::TestWithParam<KeyKind> {};

TEST_P(SignatureTest, HoldsForItsMessageDomainAndKeyOnly) {
  const Identity north = Make(GetParam()), other = Make(GetParam());
  const Bytes message = {1, 2, 3};
  const Bytes signature = Sign(north, "domain", message);
  EXPECT_LE(signature.size(), kMaxSignatureBytes);
  EXPECT_TRUE(VerifySignature(*north.certificate, "domain", message, signature));
  EXPECT_FALSE(VerifySignature(*other.certificate, "domain", message, signature));
  EXPECT_FALSE(VerifySignature(*north.certificate, "domai", message, signature));
  EXPECT_FALSE(VerifySignature(*north.certificate, "domain", Bytes{1, 2}, signature));
  // A byte that moves from the message to the domain.
  EXPECT_FALSE(VerifySignature(*north.certificate, "domain\x01", Bytes{2, 3}, signature));
  EXPECT_FALSE(VerifySignature(*north.certificate, "domain", message, {}));
}

TEST_P(SignatureTest, NoBitOfItMayChange) {
  const Identity north = Make(GetParam());
  const Bytes message = {1, 2, 3};
  const Bytes good = Sign(north, "domain", message);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    bad[bit / 8] = static_cast<uint8_t>(bad[bit / 8] ^ (1U << (bit % 8)));
    EXPECT_FALSE(VerifySignature(*north.certificate, "domain", message, bad)) << bit;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(VerifySignature(*north.certificate, "domain", message, longer));
}

TEST_P(SignatureTest, CertificatesTravel) {
  const Identity north = Make(GetParam());
  const Bytes der = EncodeCertificate(*north.certificate);
  EXPECT_LE(der.size(), kMaxCertificateBytes);
  const auto back = DecodeCertificate(der);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(Fingerprint(*back), Fingerprint(*north.certificate));
  Bytes longer = der;
  longer.push_back(0);
  EXPECT_EQ(DecodeCertificate(longer), nullptr);
  EXPECT_EQ(DecodeCertificate(ByteView(der).first(der.size() - 1)), nullptr);
  EXPECT_EQ(DecodeCertificate({}), nullptr);
  EXPECT_EQ(DecodeCertificate(Bytes(kMaxCertificateBytes + 1, 0x30)), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Keys, SignatureTest, testing::Values(KeyKind::kEd25519, KeyKind::kP256));

// An identity whose key is of a kind that `partita cert new` never makes.
Identity ForeignIdentity(EVP_PKEY* key) {
  Identity identity = Make(KeyKind::kEd25519);
  identity.key = {key, EVP_PKEY_free};
  X509_set_pubkey(identity.certificate.get(), key);
  return identity;
}

TEST(SignatureKindTest, OtherKeysNeitherSignNorVerify) {
  const Identity p384 = ForeignIdentity(EVP_EC_gen("P-384"));
  const Identity x25519 = ForeignIdentity(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  for (const Identity& identity : {p384, x25519}) {
    try {
      Sign(identity, "domain", Bytes{1});
      ADD_FAILURE() << "signed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.hint(), testing::HasSubstr("partita cert new"));
    }
    EXPECT_FALSE(VerifySignature(*identity.certificate, "domain", Bytes{1}, Bytes(64)));
  }
}

// RFC 8032 signatures are deterministic: the encoding of what is signed is fixed by this value's
// verification with OpenSSL's own call over bytes that are spelled out here.
TEST(SignatureKindTest, SignsTheDocumentedBytes) {
  const Identity north = Make(KeyKind::kEd25519);
  const Bytes signature = Sign(north, "d", Bytes{7});
  Bytes spelled = {20, 0, 0, 0, 0, 0, 0, 0};
  for (char c : std::string("partita signature v1")) spelled.push_back(static_cast<uint8_t>(c));
  for (int v : {1, 0, 0, 0, 0, 0, 0, 0, int{'d'}, 1, 0, 0, 0, 0, 0, 0, 0, 7})
    spelled.push_back(static_cast<uint8_t>(v));
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  ASSERT_EQ(EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, north.key.get()), 1);
  EXPECT_EQ(EVP_DigestVerify(context.get(), signature.data(), signature.size(), spelled.data(),
                             spelled.size()),
            1);
}

}  // namespace
}  // namespace partita::crypto::signature_test
