#include "sums/service/admission_list.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/hex.h"
#include "base/utc_time.h"
#include "crypto/hash.h"
#include "sums/protocol/client.h"

namespace partita::sums {
namespace {

constexpr std::string_view kTitle = "partita clients ";
constexpr char kLineHint[] =
    "a line is: client, 32 hexadecimal digits; credential, 64; for tokens, the end of validity "
    "(2026-12-31T23:59:59Z)";

[[noreturn]] void FailAt(const std::string& file, size_t line, const std::string& what,
                         const std::string& hint) {
  throw Error(ErrorCode::kBadInput, fmt::format("{}:{}: {}", file, line, what), hint);
}

// Up to the next blank, which is removed as well.
std::string_view Word(std::string_view& line) {
  const size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

std::optional<AdmittedClient> ParseLine(std::string_view line, Admission admission) {
  AdmittedClient client;
  if (!FromHex(Word(line), client.client) || !FromHex(Word(line), client.credential)) {
    return std::nullopt;
  }
  if (admission == Admission::kTokens) {
    const auto until = ParseUtc(Word(line));
    if (!until) return std::nullopt;
    client.valid_until = *until;
  }
  if (!line.empty()) return std::nullopt;
  return client;
}

Admission ParseTitle(std::string_view line, const std::string& file) {
  for (const Admission admission :
       {Admission::kRegistered, Admission::kTokens, Admission::kCertificates}) {
    if (line == std::string(kTitle) + AdmissionName(admission)) return admission;
  }
  FailAt(file, 1, "this is no list of clients",
         "its first line is 'partita clients registered', 'partita clients tokens' or 'partita "
         "clients certificates'");
}

bool ByClient(const AdmittedClient& a, const AdmittedClient& b) { return a.client < b.client; }

// Of a sorted list; its end if each client is there once.
std::vector<AdmittedClient>::const_iterator FindTwice(const AdmissionList& list) {
  return std::adjacent_find(
      list.clients.begin(), list.clients.end(),
      [](const AdmittedClient& a, const AdmittedClient& b) { return a.client == b.client; });
}

// A credential that stands for one client alone: nobody counts twice.
void RequireDistinctCredentials(const AdmissionList& list, const std::string& where) {
  std::vector<const AdmittedClient*> clients;
  clients.reserve(list.clients.size());
  for (const AdmittedClient& client : list.clients) clients.push_back(&client);
  const auto by_credential = [](const AdmittedClient* a, const AdmittedClient* b) {
    return a->credential < b->credential;
  };
  std::sort(clients.begin(), clients.end(), by_credential);
  const auto twice = std::adjacent_find(clients.begin(), clients.end(),
                                        [](const AdmittedClient* a, const AdmittedClient* b) {
                                          return a->credential == b->credential;
                                        });
  if (twice == clients.end()) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}clients {} and {} have the same credential", where,
                          ToHex((*twice)->client), ToHex((*std::next(twice))->client)),
              "each client needs one of its own; remove one of the lines");
}

[[noreturn]] void FailUnusable(const ClientId& client) {
  throw Error(ErrorCode::kBadInput,
              fmt::format("the key of client {} is no key (it is of low order)", ToHex(client)),
              "leave this client out, or ask it for the client.pub that keygen made");
}

// What a compute node could not use, it must not admit.
void RequireUsableKeys(const std::vector<AdmittedClient>& clients) {
  crypto::SystemRandom random;
  const crypto::BoxKeyPair any = crypto::MakeBoxKeyPair(random);
  for (const AdmittedClient& client : clients) {
    try {
      crypto::PairKey(any, client.credential, "partita dca client key check", {});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      FailUnusable(client.client);
    }
  }
}

ClientId ClientIdOf(std::string_view what, ByteView bytes) {
  const crypto::Digest digest = crypto::Sha256().Field(what).Field(bytes).Finish();
  ClientId client{};
  std::copy_n(digest.begin(), client.size(), client.begin());
  return client;
}

}  // namespace

AdmissionList ParseAdmissionList(std::string_view text, const std::string& file) {
  AdmissionList list;
  size_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (number == 1) {
      list.admission = ParseTitle(line, file);
      continue;
    }
    if (line.empty() || line.front() == '#') continue;
    const auto client = ParseLine(line, list.admission);
    if (!client) FailAt(file, number, "this line names no client", kLineHint);
    list.clients.push_back(*client);
  }
  if (number == 0) ParseTitle({}, file);
  std::sort(list.clients.begin(), list.clients.end(), ByClient);
  const auto twice = FindTwice(list);
  if (twice != list.clients.end()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: client {} is there twice", file, ToHex(twice->client)),
                "each client is admitted once; remove one of the lines");
  }
  RequireDistinctCredentials(list, file + ": ");
  return list;
}

AdmissionList LoadAdmissionList(const std::filesystem::path& file) {
  return ParseAdmissionList(ReadFile(file, kMaxAdmissionBytes, "the list of clients",
                                     "check the path; partita client register makes it"),
                            file.string());
}

std::string FormatAdmissionList(const AdmissionList& list) {
  std::string text = std::string(kTitle) + AdmissionName(list.admission) + "\n";
  for (const AdmittedClient& client : list.clients) {
    text += ToHex(client.client) + " " + ToHex(client.credential);
    if (list.admission == Admission::kTokens) text += " " + FormatUtc(client.valid_until);
    text += "\n";
  }
  return text;
}

void Admit(const std::vector<AdmittedClient>& clients, AdmissionList& list) {
  if (list.admission == Admission::kRegistered) RequireUsableKeys(clients);
  list.clients.insert(list.clients.end(), clients.begin(), clients.end());
  std::sort(list.clients.begin(), list.clients.end(), ByClient);
  const auto twice = FindTwice(list);
  if (twice != list.clients.end()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("client {} is admitted already", ToHex(twice->client)),
                "each client is admitted once");
  }
  RequireDistinctCredentials(list, "");
}

ClientId ClientOfKey(const crypto::BoxPublicKey& key) {
  return ClientIdOf("partita dca client key", key);
}
ClientId ClientOfCertificate(const std::array<uint8_t, 32>& fingerprint) {
  return ClientIdOf("partita dca client certificate", fingerprint);
}

ClientDirectory MakeDirectory(const CollectionFile& collection, const AdmissionList& list,
                              uint16_t node, const crypto::BoxKeyPair& box, unsigned threads) {
  if (list.admission != collection.admission) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the list of clients is for admission by {}, the collection for {}",
                            AdmissionName(list.admission), AdmissionName(collection.admission)),
                "use the list that was made for this collection");
  }
  if (list.clients.size() > collection.contract.clients) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} clients are admitted, but the collection plans with {}",
                            list.clients.size(), collection.contract.clients),
                "the noise is sized for the planned number; write a collection for more");
  }
  ClientDirectory directory;
  // In order, so that each insertion is at the end.
  for (const AdmittedClient& client : list.clients) {
    directory.emplace_hint(directory.end(), client.client, std::nullopt);
  }
  if (list.admission != Admission::kRegistered) return directory;
  std::vector<std::optional<crypto::Key>*> keys;
  for (auto& [client, key] : directory) keys.push_back(&key);
  std::mutex mutex;
  std::exception_ptr failure;
  const auto derive = [&](size_t first) {
    try {
      for (size_t i = first; i < keys.size(); i += threads) {
        const AdmittedClient& client = list.clients[i];
        try {
          *keys[i] =
              RegisteredKey(box, client.credential, collection.contract.study, client.client, node);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::kBadInput) throw;
          FailUnusable(client.client);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads; ++i) workers.emplace_back(derive, i);
  derive(0);
  for (std::thread& worker : workers) worker.join();
  if (failure) std::rethrow_exception(failure);
  return directory;
}

Credential CheckCredential(const AdmissionList& list, const ClientId& client,
                           const std::optional<std::array<uint8_t, 32>>& digest, int64_t now) {
  if (list.admission == Admission::kRegistered) return Credential::kGood;
  AdmittedClient wanted;
  wanted.client = client;
  const auto found = std::lower_bound(list.clients.begin(), list.clients.end(), wanted, ByClient);
  if (found == list.clients.end() || found->client != client) return Credential::kUnknownClient;
  if (!digest) return Credential::kMissing;
  if (CRYPTO_memcmp(digest->data(), found->credential.data(), digest->size()) != 0) {
    return Credential::kWrong;
  }
  if (list.admission == Admission::kTokens && now > found->valid_until) return Credential::kExpired;
  return Credential::kGood;
}

}  // namespace partita::sums
