// Keeps the confirmation where only this origin, port included, can read it, then goes on to the page.

const confirmation = document.querySelector('meta[name="ouroboros-confirm"]').content;
localStorage.setItem("ouroboros-confirm", confirmation);
location.replace(`/${location.hash}`);
