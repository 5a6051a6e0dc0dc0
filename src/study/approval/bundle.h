// A bundle: one file that carries to every party what all of them need to have alike, the study file
// and the roster, signed by the party that put it together.
//
// The signature says who that was and that nothing was changed since; that the fingerprints in the
// roster are the parties' own is for everybody to compare over another way, as ever. No secret.
#pragma once

#include <string>
#include <string_view>

#include "study/approval/approval.h"
#include "study/file/study_file.h"

namespace partita::study {

inline constexpr size_t kMaxRosterBytes = 64 << 10;
inline constexpr size_t kMaxBundleBytes = 3 * (kMaxStudyFileBytes + kMaxRosterBytes);

struct Bundle {
  std::string party;  // who put it together
  std::string study;  // the name in the study file
  int64_t made_at = 0;
  std::string study_file, roster;  // the texts of the files
};

struct SignedBundle {
  Bundle bundle;
  Signature signature;
};

SignedBundle SignBundle(Bundle bundle, const crypto::Identity& identity);
// JSON, with a line break at its end.
std::string RenderBundle(const SignedBundle& document);
// Strict: kBadInput naming `file` for anything but what RenderBundle gives. The signature is not
// looked at.
SignedBundle ParseBundle(std::string_view text, std::string_view file);
// As RequireSigned of approvals; `fingerprint` is the roster's of that party.
void RequireSigned(const SignedBundle& document, const std::string& fingerprint);

}  // namespace partita::study
