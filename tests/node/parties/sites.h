// Two sites of a test, and what lies between them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "crypto/prg.h"
#include "crypto/signature.h"
#include "node/parties/pairing.h"
#include "tests/net/parties.h"

namespace partita::node {

inline constexpr int64_t kNow = 1'800'000'000;

// A store in memory that counts what was made durable.
struct TestInvitations : InvitationStore {
  InvitationBook book;
  int saves = 0;

  InvitationBook Load() override { return book; }
  void Save(const InvitationBook& now) override {
    book = now;
    ++saves;
  }
  bool IsUsed(const InviteNumber& number) const {
    for (const auto& line : book.lines) {
      if (line.number == number) return line.used;
    }
    return false;
  }
};

// Made once for a name: keys are slow to make.
inline const crypto::Identity& IdentityOf(const std::string& name) {
  static std::map<std::string, crypto::Identity> made;
  auto found = made.find(name);
  if (found == made.end()) {
    // "west/2" is a second one of west.
    const std::string party = name.substr(0, name.find('/'));
    found = made.emplace(name, crypto::MakeIdentity({.name = party})).first;
  }
  return found->second;
}

inline Bytes CertificateOf(const std::string& name) {
  return crypto::EncodeCertificate(*IdentityOf(name).certificate);
}

inline Digest KeyOf(const std::string& name) { return crypto::Sha256Of(CertificateOf(name)); }

// What both ends see of a connection between two sites: the exporter is of this connection alone.
inline PairingEnds Connect(const std::string& inviter, const std::string& joiner,
                           uint8_t connection = 1) {
  PairingEnds ends;
  ends.inviter_certificate = CertificateOf(inviter);
  ends.joiner_certificate = CertificateOf(joiner);
  ends.exporter.fill(connection);
  return ends;
}

// The code of an error that `act` throws; nothing if it throws none.
template <class Act>
std::optional<ErrorCode> CodeOf(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

// North, which invites, and west, which has taken the line.
struct TwoSites {
  TestInvitations north, west;
  crypto::Prg random = net::TestRandom(11);
  Invitation line;

  TwoSites() { NewLine(); }
  void NewLine() {
    line = Invite(north, "north.example.org:7400", KeyOf("north"), random, kNow);
    Accept(west, line, kNow);
  }
};

// After the three messages of an honest run.
struct Compared {
  Comparison north, west;
};

inline Compared CompareHonestly(TwoSites& sites, uint8_t connection = 1) {
  const PairingEnds ends = Connect("north", "west", connection);
  Inviter inviter(ends, sites.north, sites.random);
  Joiner joiner(sites.line, ends, sites.west, sites.random);
  const Bytes nonce = inviter.TakeHello(joiner.Hello(kNow), kNow);
  Comparison north = inviter.TakeNonce(joiner.TakeNonce(nonce, kNow), kNow);
  return {std::move(north), joiner.Compare()};
}

}  // namespace partita::node
