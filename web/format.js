// Words, numbers and elements.

/** An element: `el("p", { class: "x", hidden: true }, "text", child)`. Text is never read as markup. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Sets text only when it changed, so that nothing is laid out or read aloud again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Text in which backquotes mark code, as nodes. */
export function rich(text) {
  return text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
}

/** A span of milliseconds, in at most two units. */
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days) return `${days}d ${hours}h`;
  if (hours) return `${hours}h ${minutes}m`;
  if (minutes) return `${minutes}m ${seconds % 60}s`;
  return `${seconds}s`;
}

/** Bytes with a unit; unknown is said, not shown as zero. */
export function bytes(count) {
  if (count === null || count === undefined) return "unknown";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${count >= 100 || unit === 0 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

/** An argument vector as a shell would take it. */
export function commandLine(argv) {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** Terminal output as plain text: no escape sequences, and of what a line overwrote only the last. */
export function plain(text) {
  return text
    .replace(/\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]/g, "")
    .replace(/\r\n/g, "\n")
    .replace(/^.*\r(?!\n)/gm, "")
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "");
}

/** Why a task stands where it stands, in the reader's own time. */
export function reason(task, now) {
  const due = task.not_before ? Date.parse(task.not_before) : 0;
  if (task.status === "waiting" && task.after.length === 0 && due > now) {
    return `${task.attempts > 0 ? "is tried again" : "starts"} in ${span(due - now)}`;
  }
  return task.reason ?? "";
}

/** An amount of nano-dollars, exactly, with at least cents. */
export function dollars(nanos) {
  const [whole, fraction] = (nanos / 1e9).toFixed(9).split(".");
  return `$${whole}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`;
}

/** What a task spent. What is not known is a bound or a question mark, never nothing. */
export function cost(spent) {
  if (spent.sends === 0) return "nothing was sent";
  const open = spent.accounted_nanos > spent.settled_nanos;
  const amount = open ? `≤ ${dollars(spent.accounted_nanos)}` : spent.unpriced + spent.unresolved > 0 ? "?" : dollars(spent.settled_nanos);
  return `${amount} · ${spent.input_tokens || "?"} in, ${spent.output_tokens || "?"} out`;
}

/** What a person would most likely do with a task. */
export function action(task) {
  if (task.status === "cancelling") return null;
  if (task.status === "paused") return ["resume", "Resume"];
  return SETTLED.has(task.status) ? ["retry", "Retry"] : ["cancel", "Cancel"];
}

export const SETTLED = new Set(["completed", "failed", "cancelled"]);

/** How long a task waits, runs, or took, and since when. */
export function age(task, now) {
  const at = (time) => Date.parse(time);
  if (task.settled_at) {
    const took = task.started_at ? `took ${span(at(task.settled_at) - at(task.started_at))}, ` : "";
    return `${took}${span(now - at(task.settled_at))} ago`;
  }
  if (task.started_at && (task.status === "running" || task.status === "cancelling")) {
    return `running for ${span(now - at(task.started_at))}`;
  }
  return `submitted ${span(now - at(task.submitted_at))} ago`;
}
