// The frame of a report: one file that needs nothing else and may run one script only.
#pragma once

#include <string>

namespace partita::report {

struct HtmlPage {
  std::string title;   // text
  std::string header;  // markup, above the navigation
  std::string main;    // markup
  std::string footer;  // markup
  std::string data;    // JSON for the plots; empty: a page without a script
};

std::string RenderHtmlPage(const HtmlPage& page);

// JSON that can stand inside <script type="application/json">: no "<" is left in it.
std::string EmbeddableJson(const std::string& json);

}  // namespace partita::report
