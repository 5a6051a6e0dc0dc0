// Words for people. What peers wrote is shown as it is, but for characters that would make a text look
// like another one.

// Controls, marks of direction and characters without width are written out: "[U+202E]".
const kUnseen =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export const plain = (text: string): string =>
  text
    .replace(/\r\n/g, "\n")
    .replace(kUnseen, (c) => `[U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

// Peers' names are of no use beyond this, and long ones would push what matters out of sight; the study file has
// them whole.
export const short = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

export const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

// "north, south and west"
export function listOf(names: string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

// "ABCDE", at a time, of a code or a fingerprint.
export function groups(text: string, size: number): string[] {
  const parts: string[] = [];
  for (let i = 0; i < text.length; i += size) parts.push(text.slice(i, i + size));
  return parts;
}

export const firstUpper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

// A message of the API as a sentence; one that begins with a command is left as it is typed.
export function sentence(text: string): string {
  const words = plain(text).trim();
  const said = words.startsWith("partita ") ? words : firstUpper(words);
  return said === "" || /[.!?:]$/.test(said) ? said : `${said}.`;
}

const kDay = new Intl.DateTimeFormat("en-GB", {dateStyle: "medium"});
const kMinute = new Intl.DateTimeFormat("en-GB", {dateStyle: "medium", timeStyle: "short"});

export function dayText(utc: string): string {
  const time = new Date(utc);
  return Number.isNaN(time.getTime()) ? plain(utc) : kDay.format(time);
}

export function timeText(utc: string): string {
  const time = new Date(utc);
  return Number.isNaN(time.getTime()) ? plain(utc) : kMinute.format(time);
}

// Times within words of the node.
export const withDays = (text: string): string =>
  text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, dayText);

// "in 3 days", "2 hours ago"
export function fromNow(utc: string, now: number): string {
  const seconds = Math.round((new Date(utc).getTime() - now) / 1000);
  if (Number.isNaN(seconds)) return "";
  const far = Math.abs(seconds);
  const amount =
    far < 90
      ? "a minute"
      : far < 5400
        ? count(Math.round(far / 60), "minute", "minutes")
        : far < 129_600
          ? count(Math.round(far / 3600), "hour", "hours")
          : count(Math.round(far / 86_400), "day", "days");
  return seconds < 0 ? `${amount} ago` : `in ${amount}`;
}
