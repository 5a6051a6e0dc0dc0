// A meta-analysis for people and programs: tables and a forest plot on terminals and pages, JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/meta/protocol.h"
#include "study/plan/document.h"

namespace partita::methods::meta {

// sites: by holder, where they opened.
study::Document MetaDocument(const std::string& title, const Task& task,
                             const std::vector<std::string>& names, const OpenedPool& pool,
                             const std::optional<std::vector<SiteEstimate>>& sites);

}  // namespace partita::methods::meta
