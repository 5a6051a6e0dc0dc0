// What a key under a passphrase costs whoever guesses it: scrypt's numbers, read from the file.
#include "crypto/passphrase_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace partita::crypto::passphrase_key_test {
namespace {

namespace fs = std::filesystem;

// The bytes of the PEM block in `file`; empty if it is not an encrypted key.
std::vector<unsigned char> ClosedKey(const fs::path& file) {
  const std::unique_ptr<FILE, int (*)(FILE*)> in(std::fopen(file.c_str(), "r"), std::fclose);
  char *name = nullptr, *header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  if (in == nullptr || PEM_read(in.get(), &name, &header, &data, &size) != 1) return {};
  std::vector<unsigned char> bytes;
  if (std::string_view(name) == "ENCRYPTED PRIVATE KEY") bytes.assign(data, data + size);
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  return bytes;
}

TEST(PassphraseKeyTest, AGuessCostsWhatTheHeaderSays) {
  std::string pattern = (fs::temp_directory_path() / "partita-key-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  SavePassphraseIdentity(MakeIdentity({.name = "west"}), folder / "steward.pem",
                         folder / "steward.key", "several words of a steward");
  const std::vector<unsigned char> closed = ClosedKey(folder / "steward.key");
  fs::remove_all(folder);
  // RFC 7914, section 7: cost, block size and parallelization are the integers after the salt.
  const std::vector<unsigned char> scrypt = {0x06, 0x09, 0x2B, 0x06, 0x01, 0x04,
                                             0x01, 0xDA, 0x47, 0x04, 0x0B};
  const std::vector<unsigned char> numbers = {0x02, 0x02, 0x40, 0x00, 0x02,
                                              0x01, 0x08, 0x02, 0x01, 0x05};
  const auto found = std::search(closed.begin(), closed.end(), scrypt.begin(), scrypt.end());
  ASSERT_NE(found, closed.end());
  const auto salt =
      found + static_cast<ptrdiff_t>(scrypt.size()) + 2;  // after the head of the sequence
  ASSERT_GT(closed.end() - salt, 40);
  ASSERT_EQ(salt[0], 0x04);
  EXPECT_GE(salt[1], 8) << "bytes of salt";
  const auto cost = salt + 2 + salt[1];
  EXPECT_EQ(std::vector<unsigned char>(cost, cost + static_cast<ptrdiff_t>(numbers.size())),
            numbers)
      << "N = 2^14, r = 8, p = 5";
}

}  // namespace
}  // namespace partita::crypto::passphrase_key_test
