// One key, one act. Nothing happens while somebody types or a dialog is open.

/** Calls the act of a key: `keys({ j: () => … })`. */
export function keys(acts) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = event.target.closest("input, textarea, select");
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    // A button or link that has the focus keeps its own keys.
    if (event.key === "Enter" && event.target.closest("a, button")) return;
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
