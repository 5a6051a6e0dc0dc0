// Script and style of the HTML reports: the bundle of web/, made during the build (web/build.mjs)
// and part of the program.
#pragma once

#include <string_view>

namespace partita::report::web_assets {

std::string_view Script();    // what stands between <script> and </script>
std::string_view Style();     // what stands between <style> and </style>
std::string_view Policy();    // the content security policy that allows exactly these two
std::string_view Licences();  // of the packages in the script, plain text

}  // namespace partita::report::web_assets
