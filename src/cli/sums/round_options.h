// What the commands of private sums have in common.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal/output.h"
#include "crypto/certificate.h"
#include "run/ledger/open_ledger.h"
#include "sums/service/round_client.h"

namespace partita::cli {

// key.pem and cert.pem of the folder, or those that are named instead.
crypto::Identity IdentityIn(const std::string& folder, const std::string& key,
                            const std::string& certificate);
// Empty without a file.
std::optional<run::LedgerOptions> LedgerOf(const std::string& file, const std::string& table);
// Lines with the time, to standard error, unless quiet.
sums::RoundLog LogTo(const OutputOptions& output);

}  // namespace partita::cli
