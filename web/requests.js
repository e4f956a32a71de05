// What tasks ask their owner: a card for each, answered where it stands. Text of tasks is never read as markup.

import { get, post } from "./api.js";
import { el, span } from "./format.js";

/** Shows what is open in `place`. A card stays as it is while it is open, so that nothing that is typed is lost. */
export class Requests {
  constructor(place, { say, failed }) {
    this.place = place;
    this.say = say;
    this.failed = failed;
    this.cards = new Map();
  }

  async load() {
    const { requests } = await get("/api/requests?state=open");
    const open = new Map(requests.map((request) => [`${request.task}/${request.request}/${request.asked_at}`, request]));
    for (const [key, card] of this.cards) {
      if (open.has(key)) continue;
      card.remove();
      this.cards.delete(key);
    }
    // Who has waited longest comes first.
    for (const [key, request] of [...open].reverse()) {
      if (this.cards.has(key)) continue;
      const card = this.card(request);
      this.cards.set(key, card);
      this.place.append(card);
    }
    this.place.hidden = this.cards.size === 0;
  }

  card(request) {
    const approval = request.asks.type === "approval";
    const title = el(
      "h2",
      {},
      el("a", { href: `#/task/${request.number}` }, `Task ${request.number}`),
      approval ? ` asks whether it may use ${request.asks.tool}` : " asks",
    );
    const what = approval ? el("pre", {}, request.asks.summary) : el("p", { class: "question" }, request.asks.text);
    const why = approval && request.asks.why ? el("p", { class: "faint" }, request.asks.why) : null;
    const until = request.expires_at
      ? el("p", { class: "faint" }, `Without an answer it goes on in ${span(Date.parse(request.expires_at) - Date.now())}.`)
      : null;
    return el("li", {}, title, what, why, approval ? this.decisions(request) : this.answers(request), until);
  }

  answers(request) {
    const options = (request.asks.options ?? []).map((text, index) =>
      el("button", { type: "button", onclick: (event) => this.send(event, request, { option: index + 1 }) }, text),
    );
    const words = el("input", { type: "text", "aria-label": `Answer to task ${request.number}`, placeholder: "In your own words", maxlength: 4000 });
    const form = el("form", { class: "words" }, words, el("button", {}, "Answer"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = words.value.trim();
      if (text) this.send(event, request, { text });
    });
    return el("div", { class: "answers" }, ...options, form);
  }

  decisions(request) {
    const saved = request.asks.rule !== undefined && request.asks.rule !== null;
    const decide = (word, body, kind) =>
      el("button", { type: "button", class: kind, onclick: (event) => this.send(event, request, body) }, word);
    const reason = el("input", { type: "text", "aria-label": "Why not", placeholder: "Why not, if you like", maxlength: 4000 });
    const form = el("form", { class: "words" }, reason, el("button", { class: "danger" }, "Deny"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const why = reason.value.trim();
      this.send(event, request, why ? { decision: "deny", reason: why } : { decision: "deny" });
    });
    return el(
      "div",
      { class: "answers" },
      decide("Once", { decision: "once" }),
      saved ? decide("For this task", { decision: "task" }) : null,
      saved ? decide("Always in its folder", { decision: "always" }) : null,
      form,
    );
  }

  async send(event, request, body) {
    const card = event.target.closest("li");
    const controls = [...card.querySelectorAll("button, input")];
    for (const control of controls) control.disabled = true;
    try {
      await post(`/api/requests/${request.task}/${request.request}/answer`, body);
      this.say(`Task ${request.number} is answered.`);
    } catch (error) {
      for (const control of controls) control.disabled = false;
      // Somebody else was faster, or its time is over: the next look takes it away.
      if (error.code !== "request_closed") this.failed(error);
    }
    await this.load().catch(this.failed);
  }
}
