// Filters the inventory. Without it the inventory is a plain list.
(() => {
  "use strict";
  const form = document.getElementById("filters");
  if (!form) return;
  const shown = document.getElementById("shown");
  const entries = [...document.querySelectorAll("#inventory .entries > li")];
  const texts = entries.map((entry) => entry.textContent.toLowerCase());

  function filter() {
    const { text, ...kinds } = Object.fromEntries(new FormData(form));
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    entries.forEach((entry, at) => {
      const fits =
        Object.entries(kinds).every(([kind, value]) => !value || entry.dataset[kind] === value) &&
        words.every((word) => texts[at].includes(word));
      entry.hidden = !fits;
      count += fits;
    });
    shown.textContent = `${count} / ${entries.length}`;
  }

  // A link to an entry that is filtered away shows it again.
  function reveal() {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.hidden) {
      form.reset();
      filter();
      target.scrollIntoView();
    }
  }

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", reveal);
  form.hidden = false;
  filter();
})();
