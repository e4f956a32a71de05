// The list of tasks.

import { get, tail } from "./api.js";
import { action, age, el, plain, reason, setText } from "./format.js";

const PAGE = 100;
const TAILS = 6;

export class TaskList {
  constructor({ act, failed }) {
    this.act = act;
    this.failed = failed;
    this.rows = new Map();
    this.filter = "";
    this.name = "";
    this.next = null;
    this.shown = PAGE;
    this.selected = null;
    this.list = document.getElementById("list");
    this.empty = document.getElementById("empty");
    this.more = document.getElementById("more");
    this.more.addEventListener("click", () => {
      this.shown += PAGE;
      this.load();
    });
  }

  /** Reads the list again, as far as it is shown. */
  async load() {
    const asked = `${this.filter}\n${this.name}\n${this.shown}`;
    const tasks = [];
    let cursor = null;
    do {
      const query = new URLSearchParams({ limit: Math.min(this.shown - tasks.length, 1000) });
      if (cursor) query.set("cursor", cursor);
      if (this.filter) query.set("status", this.filter);
      if (this.name) query.set("name", this.name);
      const page = await get(`/api/tasks?${query}`);
      tasks.push(...page.tasks);
      cursor = page.next;
    } while (cursor && tasks.length < this.shown);
    // The question may have changed while it was answered.
    if (asked !== `${this.filter}\n${this.name}\n${this.shown}`) return;
    this.next = cursor;
    this.show(tasks);
  }

  show(tasks) {
    const keep = new Set(tasks.map((task) => task.id));
    for (const [id, row] of this.rows) {
      if (keep.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    let before = this.list.firstElementChild;
    for (const task of tasks) {
      let row = this.rows.get(task.id);
      if (!row) {
        row = makeRow(task, this.act);
        this.rows.set(task.id, row);
      }
      update(row, task);
      if (row.element === before) before = before.nextElementSibling;
      else this.list.insertBefore(row.element, before);
    }
    this.more.hidden = !this.next;
    this.explain(tasks.length === 0);
    this.mark();
  }

  explain(nothing) {
    this.empty.hidden = !nothing;
    if (!nothing) return;
    if (this.filter || this.name) {
      this.empty.replaceChildren(el("p", {}, "No task fits this filter."));
      return;
    }
    this.empty.replaceChildren(
      el("h2", {}, "Nothing has run yet"),
      el("p", {}, "Give it something to do, in a terminal:"),
      el("pre", {}, "ouroboros run -- sh -c 'echo hi; sleep 1; echo done'"),
      el("p", { class: "faint" }, "It shows up here as soon as it is accepted."),
    );
  }

  /** Moves every clock on. */
  tick(now) {
    for (const row of this.rows.values()) {
      setText(row.age, age(row.task, now));
      setText(row.reason, reason(row.task, now));
    }
  }

  /** Reads the last line of what runs, for the few rows that show it. */
  async tails() {
    const running = [...this.rows.values()].filter((row) => row.task.status === "running").slice(0, TAILS);
    await Promise.all(
      running.map(async (row) => {
        const text = await tail(row.task.number, "stdout", 600).catch(() => "");
        const line = plain(text).trimEnd().split("\n").pop();
        setText(row.tail, line);
        row.tail.hidden = !line;
      }),
    );
  }

  /** The selected task, if it is in the list. */
  current() {
    return [...this.rows.values()].find((row) => row.task.number === this.selected)?.task ?? null;
  }

  select(number) {
    this.selected = number;
    this.mark();
  }

  /** Selects the next row down (1) or up (-1) and gives its number. */
  step(by) {
    const order = [...this.list.children].map((element) => Number(element.dataset.number));
    if (order.length === 0) return null;
    const at = order.indexOf(this.selected);
    const to = at < 0 ? 0 : Math.min(Math.max(at + by, 0), order.length - 1);
    this.select(order[to]);
    const element = this.list.children[to];
    element.scrollIntoView({ block: "nearest" });
    element.querySelector("a").focus({ preventScroll: true });
    return order[to];
  }

  mark() {
    for (const row of this.rows.values()) {
      const on = row.task.number === this.selected;
      row.element.classList.toggle("selected", on);
      if (on) row.link.setAttribute("aria-current", "true");
      else row.link.removeAttribute("aria-current");
    }
  }
}

function makeRow(task, act) {
  const status = el("span", { class: "badge" });
  const name = el("span", { class: "name" });
  const link = el("a", { href: `#/task/${task.number}` }, el("span", { class: "number" }, String(task.number)), name);
  const row = { task, status, name, link, age: el("span", { class: "age" }), reason: el("span", { class: "reason" }), tail: el("code", { class: "tail", hidden: true }) };
  row.button = el("button", { type: "button", onclick: () => act(row.button.dataset.act, row.task) });
  row.element = el(
    "li",
    { "data-number": task.number },
    el("div", { class: "line" }, status, link, row.button),
    el("div", { class: "about" }, row.age, row.reason),
    row.tail,
  );
  return row;
}

function update(row, task) {
  row.task = task;
  setText(row.status, task.status);
  row.status.dataset.status = task.status;
  const from = task.from ? `${task.from.fork ? "forks" : "continues"} ${task.from.number}: ` : "";
  setText(row.name, from + task.name);
  setText(row.age, age(task, Date.now()));
  setText(row.reason, reason(task, Date.now()));
  if (task.status !== "running") row.tail.hidden = true;
  const [act, word] = action(task) ?? ["", ""];
  row.button.dataset.act = act;
  row.button.hidden = !act;
  setText(row.button, word);
  row.button.setAttribute("aria-label", `${word} task ${task.number}`);
}
