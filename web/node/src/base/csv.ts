// Tables as CSV (RFC 4180), for programs that compute what looks like a formula: such a cell gets an apostrophe.
const cell = (value: string | number): string => {
  const text = String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && typeof value === "string" ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csvOf = (rows: Array<Array<string | number>>): string =>
  rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");

// Made here: nothing is sent anywhere.
export function saveText(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
