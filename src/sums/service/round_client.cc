#include "sums/service/round_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/random.h"
#include "study/file/text.h"
#include "sums/service/round_api.h"

namespace partita::sums {
namespace {

using std::chrono::milliseconds;

// Of one request, beside the time that its bytes take.
constexpr milliseconds kRequestTime{60'000};
constexpr size_t kBytesPerSecond = size_t{1} << 16;
constexpr milliseconds kLongestRetryPause{5'000};
constexpr milliseconds kRequestSlice{50};

}  // namespace

RoundClient::RoundClient(const CollectionFile& collection, uint16_t node,
                         const crypto::Identity& identity)
    : name_(collection.nodes[node].name),
      path_(RoundPath(collection, "")),
      client_({name_, collection.nodes[node].address, collection.nodes[node].fingerprint},
              identity) {}

std::optional<Bytes> RoundClient::Get(std::string_view what, size_t max_bytes, Progress& progress) {
  net::HttpRequest request;
  request.method = "GET";
  request.target = path_ + std::string(what);
  net::HttpResponse response = client_.Send(request, RequestTime(max_bytes), max_bytes, progress);
  if (response.status == 200) return std::move(response.body);
  const std::string word = net::BodyText(response);
  if (response.status == 409 && word == kNotYet) return std::nullopt;
  throw Error(ErrorCode::kRefused,
              fmt::format("compute node {} does not give its {}: {} ({})", name_, what,
                          study::Quote(word), response.status),
              word == kOtherRound ? "compare the study hash that partita collection check prints"
                                  : "ask those who run it to look at its log");
}

net::HttpResponse RoundClient::Post(std::string_view what, const std::string& bearer,
                                    const Bytes& body, Progress& progress) {
  net::HttpRequest request;
  request.method = "POST";
  request.target = path_ + std::string(what);
  request.bearer = bearer;
  request.time = FormatUtc(NowUtc());
  request.body = body;
  return client_.Send(request, RequestTime(body.size()), kMaxWordBytes, progress);
}

milliseconds RequestTime(size_t bytes) {
  return kRequestTime + std::chrono::seconds(bytes / kBytesPerSecond);
}

void PauseFor(milliseconds time, Progress& progress) {
  for (const Deadline end = Deadline::After(time); !end.passed();) {
    progress.CheckCancelled();
    std::this_thread::sleep_for(std::min(kRequestSlice, end.remaining()));
  }
}

milliseconds Backoff::Next() {
  std::array<uint8_t, 2> bytes{};
  crypto::SystemRandom().Fill(bytes);
  const int chance = bytes[0] + 256 * bytes[1];
  const milliseconds now = next_ - next_ * chance / (2 * 65536);
  next_ = std::min(2 * next_, kLongestRetryPause);
  return now;
}

std::map<uint16_t, Bytes> GatherFrom(std::map<uint16_t, RoundClient>& nodes, std::string_view what,
                                     size_t max_bytes, std::optional<Deadline> deadline,
                                     const RoundLog& log, Progress& progress) {
  std::map<uint16_t, Bytes> found;
  std::set<std::string> said;
  for (Backoff backoff;;) {
    std::string missing, waiting, why;
    for (auto& [index, node] : nodes) {
      if (found.contains(index)) continue;
      std::string problem = fmt::format("waiting for the {} of {}", what, node.name());
      bool answers = true;
      try {
        if (std::optional<Bytes> bytes = node.Get(what, max_bytes, progress)) {
          found[index] = std::move(*bytes);
          continue;
        }
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kCancelled) throw;
        problem = error.message();
        answers = false;
      }
      std::string& names = answers ? waiting : missing;
      names += (names.empty() ? "" : ", ") + node.name();
      if (!answers) why = problem;
      if (said.insert(problem).second) log(problem);
    }
    if (found.size() == nodes.size()) return found;
    if (deadline && deadline->passed()) {
      if (missing.empty()) {
        throw Error(ErrorCode::kTimeout,
                    fmt::format("the compute nodes {} have no {} yet", waiting, what),
                    "wait longer, or ask those who run them");
      }
      // Those that answer wait for the others as we do.
      throw Error(
          ErrorCode::kTimeout,
          fmt::format("no {} of {}: {}{}", what, missing, why,
                      waiting.empty() ? "" : fmt::format("; {} answer, and wait for it", waiting)),
          fmt::format("ask those who run {}; without it there is no sum", missing));
    }
    PauseFor(backoff.Next(), progress);
  }
}

}  // namespace partita::sums
