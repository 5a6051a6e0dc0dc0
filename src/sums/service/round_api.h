// How compute nodes, clients and readers of a private sum talk over HTTPS: paths, answers, and what
// a node's state is called. docs/private-sums.md lists all of it.
//
//   POST /v1/rounds/STUDY/EPOCH/uploads       an envelope (sums/protocol/upload.h)   clients
//   GET  /v1/rounds/STUDY/EPOCH/status        JSON                                 nodes, readers
//   GET  /v1/rounds/STUDY/EPOCH/set           the frozen set                       nodes
//   GET  /v1/rounds/STUDY/EPOCH/closing       signed                               nodes, readers
//   GET  /v1/rounds/STUDY/EPOCH/publication   signed                               nodes, readers
//   POST /v1/rounds/STUDY/EPOCH/freeze                                             the node itself
// STUDY is the study hash in hexadecimal digits. Refusals are one word of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sums/file/collection_file.h"
#include "sums/protocol/open_upload.h"

namespace partita::sums {

// "/v1/rounds/STUDY/EPOCH/what".
std::string RoundPath(const CollectionFile& collection, std::string_view what);

// 200 accepted or retried; 400 malformed; 413 oversized; 422 wrong study or node; 410 replay, late;
// 425 early; 403 unknown client, unauthentic; 409 duplicate.
unsigned StatusOf(Verdict verdict);

// Other words of refusal.
inline constexpr std::string_view kNotYet = "not-yet";                    // 409: ask again later
inline constexpr std::string_view kFull = "full";                         // 503: the queue
inline constexpr std::string_view kStoreFailed = "store";                 // 503
inline constexpr std::string_view kOtherRound = "other-round";            // 404
inline constexpr std::string_view kForbidden = "forbidden";               // 403
inline constexpr std::string_view kNoCredential = "no-credential";        // 401
inline constexpr std::string_view kWrongCredential = "wrong-credential";  // 403
inline constexpr std::string_view kExpiredToken = "expired";              // 403
inline constexpr std::string_view kClockSkew = "clock-skew";              // 422

// An upload says when it is sent, by the client's clock (net::HttpRequest::time). A node that
// disagrees by more than this refuses it: a deadline, a token and a certificate mean something else
// to a machine whose clock is wrong, and it may be the node's. An upload that does not say is
// judged all the same.
inline constexpr int64_t kClockAllowanceSeconds = 300;
// Whether `time`, as it came, lies within the allowance of `now`; a text that is no time does not.
bool ClocksAgree(std::string_view time, int64_t now);

// The largest answers: a frozen set, a closing, a publication.
size_t MaxSetBytes(const CollectionFile& collection);
inline constexpr size_t kMaxClosingBytes = 512;
size_t MaxPublicationBytes(const CollectionFile& collection);
inline constexpr size_t kMaxStatusBytes = size_t{1} << 16;
inline constexpr size_t kMaxWordBytes = 64;

}  // namespace partita::sums
