#include "report/html_page.h"

#include "report/html_text.h"
#include "report/web_assets.h"

namespace partita::report {
namespace {

std::string Head(const HtmlPage& page) {
  return "<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
         "content=\"" +
         Escape(web_assets::Policy()) +
         "\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
         Element("title", Escape(page.title)) + "\n<style>" + std::string(web_assets::Style()) +
         "</style>\n</head>\n";
}

std::string Script(const HtmlPage& page) {
  if (page.data.empty()) return {};
  return "<script type=\"application/json\" id=\"report-data\">" + EmbeddableJson(page.data) +
         "</script>\n<script>" + std::string(web_assets::Script()) + "</script>\n";
}

// What the script is made of.
std::string Licences(const HtmlPage& page) {
  if (page.data.empty()) return {};
  return Element("details", Element("summary", "Licences of the packages that draw the plots") +
                                Element("pre", Escape(web_assets::Licences()))) +
         "\n";
}

}  // namespace

std::string EmbeddableJson(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json) {
    if (c == '<') {
      out += "\\u003c";  // outside of strings JSON has none
    } else {
      out += c;
    }
  }
  return out;
}

std::string RenderHtmlPage(const HtmlPage& page) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n" + Head(page) + "<body>\n" +
         Element("header", "\n" + page.header) + "\n" + Element("main", "\n" + page.main) + "\n" +
         Element("footer", "\n" + page.footer + Licences(page)) + "\n" + Script(page) +
         "</body>\n</html>\n";
}

}  // namespace partita::report
