// unixODBC's driver manager, opened when a table is asked for through it: whoever has no such database
// needs neither it nor drivers.
#pragma once

// The encoding of its wide texts: UTF-16.
#define SQL_NOUNICODEMAP
#include <sql.h>
#include <sqlext.h>
#include <sqlucode.h>

namespace partita::data {

// Its functions, without their prefix SQL; the ODBC manual says what each does.
struct Unixodbc {
  decltype(&SQLAllocHandle) allocHandle;
  decltype(&SQLBindParameter) bindParameter;
  decltype(&SQLColAttributeW) colAttribute;
  decltype(&SQLDescribeColW) describeCol;
  decltype(&SQLDisconnect) disconnect;
  decltype(&SQLDriverConnectW) driverConnect;
  decltype(&SQLEndTran) endTran;
  decltype(&SQLExecute) execute;
  decltype(&SQLFetch) fetch;
  decltype(&SQLFreeHandle) freeHandle;
  decltype(&SQLGetData) getData;
  decltype(&SQLGetDiagRecW) getDiagRec;
  decltype(&SQLGetInfoW) getInfo;
  decltype(&SQLNumResultCols) numResultCols;
  decltype(&SQLPrepareW) prepare;
  decltype(&SQLSetConnectAttrW) setConnectAttr;
  decltype(&SQLSetEnvAttr) setEnvAttr;
  decltype(&SQLSetStmtAttrW) setStmtAttr;
};

// Stays open until the process ends. Throws kUsage if there is no such library.
Unixodbc OpenUnixodbc(const char* file_name);

// The system's, opened at the first call.
const Unixodbc& Odbc();

}  // namespace partita::data
