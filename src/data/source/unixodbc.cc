#include "data/source/unixodbc.h"

#include <dlfcn.h>

#include <type_traits>

#include "base/error.h"

namespace partita::data {

Unixodbc OpenUnixodbc(const char* file_name) {
  void* library = ::dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  const auto load = [&](const char* name, auto& function) {
    void* address = library == nullptr ? nullptr : ::dlsym(library, name);
    if (address == nullptr) {
      throw Error(ErrorCode::kUsage, "unixODBC is not on this machine",
                  "Install it and the database's driver (on Debian: apt install libodbc2, and for "
                  "instance odbc-mariadb or tdsodbc).");
    }
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  Unixodbc odbc{};
  load("SQLAllocHandle", odbc.allocHandle);
  load("SQLBindParameter", odbc.bindParameter);
  load("SQLColAttributeW", odbc.colAttribute);
  load("SQLDescribeColW", odbc.describeCol);
  load("SQLDisconnect", odbc.disconnect);
  load("SQLDriverConnectW", odbc.driverConnect);
  load("SQLEndTran", odbc.endTran);
  load("SQLExecute", odbc.execute);
  load("SQLFetch", odbc.fetch);
  load("SQLFreeHandle", odbc.freeHandle);
  load("SQLGetData", odbc.getData);
  load("SQLGetDiagRecW", odbc.getDiagRec);
  load("SQLGetInfoW", odbc.getInfo);
  load("SQLNumResultCols", odbc.numResultCols);
  load("SQLPrepareW", odbc.prepare);
  load("SQLSetConnectAttrW", odbc.setConnectAttr);
  load("SQLSetEnvAttr", odbc.setEnvAttr);
  load("SQLSetStmtAttrW", odbc.setStmtAttr);
  return odbc;
}

const Unixodbc& Odbc() {
  static const Unixodbc odbc = OpenUnixodbc("libodbc.so.2");
  return odbc;
}

}  // namespace partita::data
