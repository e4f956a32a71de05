// One task: its facts and what it writes.

import { Refusal, follow, get, tail } from "./api.js";
import { SETTLED, action, age, bytes, commandLine, cost, el, plain, reason, rich, setText, span } from "./format.js";

const OBJECTIVES = { met: "met", partly: "partly met", not_met: "not met" };
const SHOWN = 64 * 1024;
const KEPT = 256 * 1024;

export class TaskDetail {
  constructor({ act, failed }) {
    this.act = act;
    this.failed = failed;
    this.root = document.getElementById("detail");
    this.number = null;
    this.stream = "stdout";
    this.following = null;
  }

  /** Shows a task; reading its output goes on until another is shown. */
  async open(number) {
    this.stop();
    this.number = number;
    this.stream = "stdout";
    this.task = null;
    this.build();
    this.root.hidden = false;
    await this.refresh();
    this.watch();
  }

  close() {
    this.stop();
    this.number = null;
    this.root.hidden = true;
  }

  /** Reads the task again. A task that began to run, or began again, has new output. */
  async refresh() {
    const number = this.number;
    if (number === null) return;
    try {
      const task = await get(`/api/tasks/${number}`);
      if (number !== this.number) return;
      const attempts = this.task?.attempts;
      this.task = task;
      this.facts();
      if (attempts !== undefined && attempts !== task.attempts) this.watch();
    } catch (refusal) {
      if (number !== this.number) return;
      if (refusal.code === "unknown_task") {
        this.stop();
        this.root.replaceChildren(this.back(), el("p", { class: "faint" }, `There is no task ${number} any more.`));
      } else this.failed(refusal);
    }
  }

  tick(now) {
    if (this.task && this.parts) setText(this.parts.age, age(this.task, now));
  }

  stop() {
    this.following?.abort();
    this.following = null;
  }

  /** Reads the output of the last attempt, then what is added to it. */
  async watch() {
    this.stop();
    const { number, stream, task } = this;
    if (number === null || !task) return;
    const control = new AbortController();
    this.following = control;
    const attempt = task.attempt_list?.at(-1);
    this.text = "";
    this.note("");
    this.print("");
    try {
      const size = attempt?.[stream].written ?? 0;
      if (attempt?.[stream].expired) return this.note("The output of this attempt is no longer kept.");
      const over = attempt && attempt.ended_at;
      const from = Math.max(0, size - SHOWN);
      if (from > 0) this.note(`Showing the last ${bytes(SHOWN)} of ${bytes(size)}; ouroboros logs ${number} gives all that is kept.`);
      if (over) {
        const text = await tail(number, stream, SHOWN);
        if (control.signal.aborted) return;
        this.print(text);
        if (!text) this.note(`Nothing was written to ${stream}.`);
        return;
      }
      if (SETTLED.has(task.status)) return this.note("It ended without running.");
      this.note(this.notes || "Waiting for output.");
      await follow(number, stream, { attempt: attempt?.ordinal, from, signal: control.signal }, (text) => {
        if (this.notes === "Waiting for output.") this.note("");
        this.print(text);
      });
    } catch (error) {
      if (control.signal.aborted) return;
      // A stream that breaks off is taken up again when the server is back.
      if (error instanceof Refusal && error.code !== "unreachable") this.failed(error);
    }
  }

  print(text) {
    const box = this.parts.output;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    this.text = (this.text + text).slice(-KEPT);
    box.textContent = plain(this.text);
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  note(text) {
    this.notes = text;
    setText(this.parts.note, text);
    this.parts.note.hidden = !text;
  }

  back() {
    return el("a", { class: "back", href: "#/", "aria-label": "Close this task" }, "Close");
  }

  build() {
    const parts = {
      title: el("h2", {}, `Task ${this.number}`),
      status: el("span", { class: "badge" }),
      age: el("span", { class: "age" }),
      reason: el("p", { class: "reason" }),
      facts: el("dl", { class: "facts" }),
      note: el("p", { class: "faint", hidden: true }),
      output: el("pre", { class: "output", tabindex: "0", "aria-label": "Output" }),
      action: el("button", { type: "button", onclick: () => this.act(parts.action.dataset.act, this.task) }),
      cancel: el("button", { type: "button", hidden: true, onclick: () => this.act("cancel", this.task) }, "Cancel"),
    };
    this.parts = parts;
    const tabs = ["stdout", "stderr"].map((stream) =>
      el("button", { type: "button", "aria-pressed": String(stream === this.stream), onclick: (event) => this.choose(stream, event.target) }, stream),
    );
    this.root.replaceChildren(
      el("div", { class: "detail-top" }, parts.status, parts.age, parts.action, parts.cancel, this.back()),
      parts.title,
      parts.reason,
      parts.facts,
      el("div", { class: "chips", role: "group", "aria-label": "Stream" }, ...tabs),
      parts.note,
      parts.output,
    );
  }

  choose(stream, button) {
    for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
    this.stream = stream;
    this.watch();
  }

  facts() {
    const { task, parts } = this;
    setText(parts.title, `${task.number} · ${task.name}`);
    setText(parts.status, task.status);
    parts.status.dataset.status = task.status;
    setText(parts.age, age(task, Date.now()));
    const why = reason(task, Date.now());
    parts.reason.replaceChildren(...rich(why));
    parts.reason.hidden = !why;
    const [act, word] = action(task) ?? ["", ""];
    parts.action.dataset.act = act;
    parts.action.hidden = !act;
    setText(parts.action, word);
    // What is paused can also be given up.
    parts.cancel.hidden = act !== "resume";
    const last = task.attempt_list?.at(-1);
    const facts = [];
    if (task.command) facts.push(["Command", el("code", {}, commandLine(task.command.argv))], ["Directory", el("code", {}, task.command.cwd)]);
    if (task.ask) facts.push(["Question", task.ask.head]);
    if (task.agent) {
      facts.push(["Task", task.agent.head]);
      facts.push(["Folder", el("code", {}, task.agent.folder)]);
      if (task.from) {
        const word = task.from.fork ? "forks" : "continues";
        facts.push(["From", `${word} ${task.from.number} (round ${task.from.round})`]);
      }
      for (const message of task.agent.messages ?? []) {
        facts.push([`Message ${message.number}`, message.taken === null ? `${message.text} (not taken)` : message.text]);
      }
      if (task.agent.route) facts.push(["Route", el("code", {}, task.agent.route)]);
    }
    if (task.ask?.route) facts.push(["Route", el("code", {}, task.ask.route)]);
    if (task.cost) facts.push(["Cost", cost(task.cost)]);
    if (task.objective) facts.push(["Objective", `${OBJECTIVES[task.objective] ?? task.objective}, as its agent says itself`]);
    if (task.exit_code !== null) facts.push(["Exit code", String(task.exit_code)]);
    if (task.attempts > 1) facts.push(["Attempts", String(task.attempts)]);
    if (task.priority !== "normal") facts.push(["Priority", task.priority]);
    if (last?.usage) facts.push(["Used", `${span((last.usage.user_micros + last.usage.system_micros) / 1000)} CPU, ${bytes(last.usage.max_resident_bytes)} memory`]);
    parts.facts.replaceChildren(...facts.flatMap(([term, value]) => [el("dt", {}, term), el("dd", {}, value)]));
  }
}
