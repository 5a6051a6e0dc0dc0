#include "node/web/sessions.h"

#include <algorithm>

#include "base/bytes.h"

namespace partita::node::web {
namespace {

crypto::Digest TokenName(std::string_view token) {
  crypto::Sha256 hash;
  return hash.Field("partita node session 1").Field(token).Finish();
}

bool IsOver(const Session& session, int64_t now) {
  return now >= session.began + kSessionSeconds || now >= session.seen + kSessionIdleSeconds ||
         now < session.began;  // the clock was set back
}

}  // namespace

std::string CsrfToken(std::string_view session_token) {
  crypto::Sha256 hash;
  return ToHex(hash.Field("partita node csrf 1").Field(session_token).Finish());
}

std::string Sessions::Open(const std::string& account, Role role, int64_t now) {
  Bytes bytes(32);
  const std::lock_guard lock(mutex_);
  random_.Fill(bytes);
  std::string token = ToHex(bytes);
  Forget(now);
  MakeRoom(account);
  sessions_[TokenName(token)] = {account, role, now, now};
  return token;
}

std::optional<Session> Sessions::Find(const std::string& token, int64_t now, bool is_person) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(TokenName(token));
  if (found == sessions_.end()) return std::nullopt;
  if (IsOver(found->second, now)) {
    sessions_.erase(found);
    return std::nullopt;
  }
  if (is_person) found->second.seen = now;
  return found->second;
}

void Sessions::End(const std::string& token) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(TokenName(token));
}

void Sessions::EndAll(const std::string& account, const std::string& except) {
  const crypto::Digest kept = TokenName(except);
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& entry) {
    return entry.second.account == account && entry.first != kept;
  });
}

size_t Sessions::Count(int64_t now) {
  const std::lock_guard lock(mutex_);
  Forget(now);
  return sessions_.size();
}

void Sessions::Forget(int64_t now) {
  std::erase_if(sessions_, [&](const auto& entry) { return IsOver(entry.second, now); });
}

void Sessions::MakeRoom(const std::string& account) {
  const auto is_of = [&](const auto& entry) { return entry.second.account == account; };
  const auto own = std::count_if(sessions_.begin(), sessions_.end(), is_of);
  const bool own_are_full = own >= static_cast<int64_t>(kMostSessionsPerAccount);
  if (!own_are_full && sessions_.size() < kMostSessions) return;
  auto oldest = sessions_.end();
  for (auto entry = sessions_.begin(); entry != sessions_.end(); ++entry) {
    if (own_are_full && !is_of(*entry)) continue;
    if (oldest == sessions_.end() || entry->second.seen < oldest->second.seen) oldest = entry;
  }
  if (oldest != sessions_.end()) sessions_.erase(oldest);
}

}  // namespace partita::node::web
