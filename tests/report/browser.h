// Debian's Chromium, without a screen and without a network.
#pragma once

#include <string>
#include <vector>

namespace partita::report {

struct BrowserRun {
  int status = -1;
  std::string out;                   // what it printed
  std::vector<std::string> console;  // messages of the page, errors and refusals included
};

// Whether there is a browser; the tests fail without one.
bool HasBrowser();

// Opens the file and prints its document after the scripts ran.
BrowserRun DumpDocument(const std::string& file);

// Prints the file as PDF into `pdf`.
BrowserRun PrintPdf(const std::string& file, const std::string& pdf);

// Takes a picture of the whole page, to look at.
BrowserRun TakePicture(const std::string& file, const std::string& png);

struct NamedPage {
  std::string name, html;
};

// What is wrong with how the pages are laid out at 400, 900 and 1400 pixels and on A4 paper, one line
// each that begins with the page's name, empty if nothing: text outside the page or its picture, texts
// of a picture over one another or too small to read, a legend outside its figure, a page that is
// wider than it should be. Tables and large diagrams may scroll, but not on paper. Details are open on
// the screens. One browser measures all of them; its wrapper is written to `file`.
std::vector<std::string> LayoutFaults(const std::vector<NamedPage>& pages, const std::string& file);

// Compressed size of the content of every page of a PDF that Chromium made.
std::vector<size_t> PdfPageSizes(const std::string& pdf);

}  // namespace partita::report
