// Keys, live events, and details on demand. Every page works without this file; it only makes it quicker.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const main = () => $("#main");
  const live = $("#live");

  // ---- What is only of use with a script

  function prepare() {
    all("[data-opens]").forEach((button) => { button.hidden = false; });
    all("[data-opens]").forEach((button) => button.addEventListener("click", () => {
      const details = document.getElementById(button.dataset.opens);
      details.open = true;
      const field = $("textarea, input:not([type=hidden])", details);
      if (field) field.focus();
    }));
    all("form").forEach((form) => form.addEventListener("submit", () => {
      setTimeout(() => all("button", form).forEach((button) => { button.disabled = true; }));
    }));
    all("details[data-raw]").forEach((details) => details.addEventListener("toggle", () => raw(details)));
    all("[data-submits]").forEach((field) => field.addEventListener("change", () => field.form.requestSubmit()));
  }

  async function raw(details) {
    const shown = $("pre", details);
    if (!details.open || shown.dataset.done) return;
    shown.dataset.done = "1";
    const answer = await fetch(details.dataset.raw).catch(() => null);
    shown.textContent = answer && answer.ok ? await answer.text() : live.dataset.gone;
  }

  // ---- Keys

  const entries = () => all("[data-entry]").filter((one) => one.offsetParent !== null);
  const current = () => document.activeElement.closest("[data-entry]");
  let goes = false;

  function step(by) {
    const found = entries();
    if (!found.length) return;
    const at = found.indexOf(current());
    const next = found[Math.min(Math.max(at < 0 && by > 0 ? 0 : at + by, 0), found.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  const ANYWHERE = ["undo", "skip", "1", "2", "3", "4"];  // once on a page, whatever entry has the focus

  function act(name) {
    const anywhere = ANYWHERE.includes(name);
    const within = current() || (anywhere ? null : entries()[0]);
    const wanted = `[data-do="${name}"]`;
    const button = (within && $(wanted, within)) || (anywhere && $(wanted, main()));
    if (!button) return false;
    const unmet = button.form && $("input:required:invalid", button.form);
    if (unmet) unmet.focus();
    else button.click();
    return true;
  }

  function answer(value) {
    const form = $("form[data-answers]");
    if (!form) return false;
    const open = () => all("fieldset", form).find((one) => !$("input:checked", one));
    if (open()) $(`input[value="${value}"]`, open()).checked = true;
    if (open()) open().scrollIntoView({ block: "nearest" });
    else form.requestSubmit();
    return true;
  }

  const KEYS = {
    j: () => step(1),
    k: () => step(-1),
    a: () => act("accept"),
    e: () => act("edit"),
    r: () => act("reject"),
    b: () => act("branch"),
    u: () => act("undo"),
    s: () => act("skip"),
    1: () => act("1"),
    2: () => act("2"),
    3: () => act("3"),
    4: () => act("4"),
    c: () => {
      const found = all(".answer .claim");
      const next = found[found.indexOf(document.activeElement) + 1] || found[0];
      if (!next) return false;
      next.focus();
    },
    "[": () => { const link = $("[data-do=previous]"); if (link) link.click(); },
    "]": () => { const link = $("[data-do=next]"); if (link) link.click(); },
    y: () => act("yes") || answer("yes"),
    n: () => act("no") || answer("no") || refresh(true),
    "/": () => { const field = $("[data-filter]"); if (field) { field.focus(); field.select(); } },
    "?": () => $("#keys") && $("#keys").showModal(),
    Enter: () => { const link = current() === document.activeElement && current() && $("[data-do=open], a[href]", current()); if (link) link.click(); else return false; },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (event.key === "Escape") {
      if (typing) typing.blur();
      return;
    }
    if (typing || $("dialog[open]")) return;
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    if (goes) {
      goes = false;
      const link = $(`a[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); return; }
    }
    if (event.key === "g") { goes = true; setTimeout(() => { goes = false; }, 1500); return; }
    const does = KEYS[event.key];
    if (does && does() !== false) event.preventDefault();
  });

  const opener = $("#keys-open");
  if (opener) {
    opener.hidden = false;
    opener.addEventListener("click", () => $("#keys").showModal());
  }

  // ---- A claim and the call that shows it: the call lights up, its output opens, the quotation comes into sight

  function light() {
    all(".lit").forEach((one) => one.classList.remove("lit"));
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id === "asked" ? ($(".call.asked") || {}).id || "" : id);
    if (!target || !target.matches(".call, .claims li, .action, .done li")) return;
    target.classList.add("lit");
    const output = $("details[id^=output]", target);
    if (output) output.open = true;
    const motion = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    ($("mark", target) || target).scrollIntoView({ block: "center", behavior: motion });
    target.focus({ preventScroll: true });
  }
  window.addEventListener("hashchange", light);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-claim]");
    if (link && link.hash && link.hash === location.hash) light();
  });

  // ---- Live: the page is loaded again behind the scenes, and its content put in place while nobody writes in it

  let version = null;
  let news = 0;

  function busy() {
    return Boolean(document.activeElement.closest("input, textarea, select") || $("dialog[open]") || $("details.edit[open]") || String(getSelection()));
  }

  function tell(kind, words) {
    if (!live) return;
    live.className = `live ${kind}`;
    if (live.textContent !== words) live.textContent = words;
  }

  function count(number) {
    const icon = $("#icon");
    const address = new URL(icon.href);
    address.searchParams.set("n", String(number));
    icon.href = address;
  }

  function refresh(asked) {
    if (!main().dataset.fresh && !asked) return;
    const request = new XMLHttpRequest();
    request.open("GET", location.pathname + location.search);
    request.responseType = "document";
    request.onload = () => {
      const found = request.response && $("#main", request.response);
      if (request.status !== 200 || !found) return;
      if (!asked && busy()) { tell("still", `${live.dataset.new} (n)`); return; }
      const before = all("[data-entry]").length;
      const focus = document.activeElement.id;
      const open = new Set(all("details[open][id]").map((one) => one.id));
      const next = document.adoptNode(found);
      if (next.textContent === main().textContent && !asked) return;
      main().replaceWith(next);
      open.forEach((id) => { const one = document.getElementById(id); if (one) one.open = true; });
      prepare();
      const again = focus && document.getElementById(focus);
      if (again) again.focus({ preventScroll: true });
      next.classList.add("swapped");
      if (document.hidden) { news += Math.max(1, all("[data-entry]").length - before); count(news); }
    };
    request.send();
  }

  function listen() {
    if (!live) return;
    const source = new EventSource("/events");
    source.onmessage = (event) => {
      const pulse = JSON.parse(event.data);
      const bar = $("#read");
      if (bar && pulse.of) bar.value = pulse.read / pulse.of;
      if (pulse.problem) tell("gone", pulse.problem);
      else if (pulse.is_reading) tell("reading", live.dataset.reading + (pulse.of ? ` ${Math.floor((100 * pulse.read) / pulse.of)} %` : ""));
      else tell("still", live.dataset.still);
      if (version !== null && pulse.version !== version) {
        main().dataset.fresh = "1";
        refresh(false);
      }
      version = pulse.version;
    };
    source.onerror = () => tell("gone", live.dataset.gone);
    window.addEventListener("pagehide", () => source.close());
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && news) { news = 0; count(0); }
  });

  prepare();
  const here = $(".side nav [aria-current]");
  if (here) here.scrollIntoView({ block: "nearest", inline: "center" });  // on a narrow screen the menu is one row
  // The browser looks for the place in the address by itself once the page is there, and takes the focus away.
  window.addEventListener("load", () => setTimeout(light));
  listen();
})();
