"use strict";

const $ = (id) => document.getElementById(id);
const KEY = "tqnet-key";
const MOST_FIGURES = 4;

// Files of the query, and addresses of pictures that are shown: to be given back when they no longer are.
let chosen = [];
let shownPictures = [];
let running = null;
let lastSearch = null;

class Problem extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

// The server.

async function ask(path, options = {}) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...(options.headers || {}), ...(key ? { "X-API-Key": key } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer. Is it running?");
  }
  if (response.status === 401) {
    await askForKey(key !== null);
    return ask(path, options);
  }
  if (response.ok) return response;
  let why = response.status === 413 ? "that is more than this server takes" : response.statusText;
  try {
    why = (await response.json()).detail;
  } catch { /* no JSON: what stands between us and the server has answered */ }
  throw new Problem(response.status, why, Number(response.headers.get("Retry-After")) || 0);
}

let asking = null;

function askForKey(wasWrong) {
  asking ??= new Promise((resolve) => {
    $("key-why").textContent = wasWrong ? "That was not the key." : "It is kept until you close this tab.";
    $("key").value = "";
    $("key-dialog").addEventListener("cancel", (event) => event.preventDefault());
    $("key-form").addEventListener("submit", () => {
      sessionStorage.setItem(KEY, $("key").value);
      asking = null;
      resolve();
    }, { once: true });
    $("key-dialog").showModal();
  });
  return asking;
}

// The query.

function conditions() {
  const texts = [];
  const add = (condition, value) => { if (value) texts.push(condition + value); };
  add("difficulty>=", $("least").value);
  add("difficulty<=", $("most").value);
  add("type=", $("type").value);
  add("language=", $("language").value);
  add("concept=", $("concept").value.trim());
  add("", $("pictured").value);
  return texts;
}

function showActive() {
  const count = conditions().length;
  $("active").hidden = count === 0;
  $("active").textContent = count;
}

function query() {
  const form = new FormData();
  for (const condition of conditions()) form.append("filters", condition);
  form.append("k", $("k").value);
  form.append("by", $("by").value);
  if ($("student").value) form.append("student", $("student").value);
  const id = $("id").value.trim();
  if (id) {
    form.append("id", id);
  } else {
    form.append("text", $("text").value.trim());
    if ($("own-difficulty").value) form.append("difficulty", $("own-difficulty").value);
    for (const file of chosen) form.append("figures", file);
  }
  return form;
}

function addFigures(files) {
  const figures = [...files].filter((file) => file.type.startsWith("image/"));
  if (!figures.length) return;
  if (chosen.length + figures.length > MOST_FIGURES) toast(`At most ${MOST_FIGURES} figures`);
  chosen = [...chosen, ...figures].slice(0, MOST_FIGURES);
  $("id").value = "";
  showChosen();
}

function showChosen() {
  $("chosen").replaceChildren(...chosen.map((file, at) => {
    const item = thumbnail(file, `Figure ${at + 1} of your question`);
    const remove = element("button", "", "×");
    remove.type = "button";
    remove.setAttribute("aria-label", `Remove figure ${at + 1}`);
    remove.addEventListener("click", () => {
      chosen = chosen.filter((other) => other !== file);
      showChosen();
      $("text").focus();
    });
    item.append(remove);
    return item;
  }));
}

function thumbnail(file, name) {
  const image = element("img");
  image.alt = name;
  image.src = URL.createObjectURL(file);
  image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
  const item = element("li");
  item.append(image);
  return item;
}

// Searching.

async function search(form = query()) {
  if (!form.get("id") && !form.get("text") && !form.getAll("figures").length) {
    showProblem(new Problem(400, "Type a question, or add a figure."));
    $("text").focus();
    return;
  }
  running?.abort();
  const controller = running = new AbortController();
  const figures = form.getAll("figures");
  lastSearch = form;
  $("answers").setAttribute("aria-busy", "true");
  $("problem").hidden = true;
  $("status").textContent = "Searching …";
  const started = performance.now();
  try {
    const response = await ask("/search", { method: "POST", body: form, signal: controller.signal });
    const answer = await response.json();
    show(answer, figures, performance.now() - started);
  } catch (error) {
    if (error.name === "AbortError") return;
    clearResults();
    showProblem(error);
  } finally {
    if (running === controller) $("answers").setAttribute("aria-busy", "false");
  }
}

function showProblem(error) {
  $("status").textContent = "";
  const busy = error.status === 429;
  $("why").textContent = busy
    ? `Many are searching just now. Try again in ${error.retryAfter || 2} seconds.`
    : error instanceof Problem ? sentence(error.message) : "Something went wrong in this page.";
  $("again").hidden = !(busy || error.status === 0 || error.status >= 500);
  $("problem").hidden = false;
  if (!(error instanceof Problem)) throw error;
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? "" : ".");
}

// Results.

function clearResults() {
  for (const picture of shownPictures) URL.revokeObjectURL(picture);
  shownPictures = [];
  $("results").replaceChildren();
  $("tools").hidden = $("asked").hidden = $("notes").hidden = true;
}

function show(answer, figures, milliseconds) {
  clearResults();
  $("welcome").hidden = true;
  const count = answer.results.length;
  $("status").textContent = count
    ? `${count} ${count === 1 ? "question" : "questions"} in ${Math.round(milliseconds)} ms`
    : "No question matches.";
  const notes = [...answer.notes, ...reasons(answer.dropped)];
  $("notes").replaceChildren(...notes.map((note) => element("li", "", sentence(note))));
  $("notes").hidden = !notes.length;
  setText($("asked").querySelector(".text"), answer.query.stem);
  $("asked").querySelector(".thumbs").replaceChildren(
    ...figures.map((file, at) => thumbnail(file, `Figure ${at + 1} of your question`)));
  $("asked").hidden = !answer.query.stem && !figures.length;
  const mostWords = Math.max(...answer.results.map((result) => result.words || 0), 1e-9);
  $("results").replaceChildren(...answer.results.map((result, at) => card(result, at + 1, mostWords)));
  $("tools").hidden = !count;
  showSelected();
  if (!count) {
    const hint = conditions().length ? "Fewer filters leave more to be found." : "Other words may be found.";
    $("results").replaceChildren(element("li", "hint", hint));
  }
  if (matchMedia("(max-width: 900px)").matches) $("answers").scrollIntoView();
}

// How many were left out, by reason.
function reasons(dropped) {
  const counts = new Map();
  for (const result of dropped) {
    const why = result.why.replace(/ \(.*/, "");
    counts.set(why, (counts.get(why) || 0) + 1);
  }
  return [...counts].map(([why, count]) => `${count} ${why}`);
}

function card(result, place, mostWords) {
  const question = result.question;
  const item = $("result").content.cloneNode(true).firstElementChild;
  const part = (selector) => item.querySelector(selector);
  const article = part("article");
  article.dataset.id = question.id;
  article.setAttribute("aria-label", `Result ${place}, question ${question.id}`);
  part(".place").textContent = `${place}.`;
  part(".pick input").setAttribute("aria-label", `Select question ${question.id}`);
  part(".pick input").addEventListener("change", showSelected);
  part(".id").textContent = question.id;
  part(".copy").setAttribute("aria-label", `Copy id ${question.id}`);
  part(".copy").addEventListener("click", () => copy([question.id]));
  const tags = [question.difficulty === null ? "" : `difficulty ${question.difficulty}`, question.type];
  part(".tags").replaceChildren(...tags.filter(Boolean).map((tag) => element("li", "", tag)));
  if (question.language) article.querySelector(".stem").lang = question.language;
  setText(part(".stem"), question.html.stem, question.language);
  part(".options").replaceChildren(...question.html.options.map((option) => {
    const choice = element("li", "text");
    setText(choice, option, question.language);
    return choice;
  }));
  part(".figures").replaceChildren(...Array.from({ length: question.figures }, (_, at) => figure(question.id, at + 1)));
  part(".path").textContent = question.knowledge.map((path) => path.join(" › ")).join(" · ");
  measure(part(".meaning"), result.cosine, result.cosine, 2);
  measure(part(".wording"), result.words, result.words / mostWords, 1);
  part(".why").setAttribute("aria-label", "Why it was found");
  const common = result.shared.length ? [`In common: ${result.shared.join(", ")}`] : [];
  part(".shared").textContent = [...common, ...result.remarks.map(sentence)].join(" · ");
  part(".solution").addEventListener("click", () => solution(article, question));
  part(".similar").addEventListener("click", () => {
    $("text").value = "";
    chosen = [];
    showChosen();
    $("known").open = true;
    $("id").value = question.id;
    search();
    scrollTo({ top: 0 });
  });
  return item;
}

function measure(into, value, share, digits) {
  into.hidden = value === null;
  if (value === null) return;
  into.querySelector(".bar i").style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  into.querySelector("b").textContent = value.toFixed(digits);
}

// Markup of the server: escaped text and MathML, which holds nothing that runs or loads.
function setText(into, html, language = "") {
  into.innerHTML = html;
  into.lang = language || (/[\u3400-\u9fff]/.test(into.textContent) ? "zh" : "");
}

function figure(id, number) {
  const item = element("li");
  item.dataset.path = `/questions/${encodeURIComponent(id)}/figures/${number}`;
  item.dataset.name = `Figure ${number} of question ${id}`;
  seen.observe(item);
  return item;
}

// By fetch, as an address in an <img> could not carry the key.
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    ask(target.dataset.path).then((response) => response.blob()).then((picture) => {
      const image = element("img");
      image.alt = target.dataset.name;
      image.src = URL.createObjectURL(picture);
      shownPictures.push(image.src);
      target.replaceChildren(image);
    }).catch(() => target.replaceChildren(element("span", "missing", "figure not readable")));
  }
}, { rootMargin: "400px" });

async function solution(article, question) {
  const button = article.querySelector(".solution");
  const into = article.querySelector(".solved");
  if (into.hidden && !into.childElementCount) {
    try {
      const whole = await (await ask(`/questions/${encodeURIComponent(question.id)}`)).json();
      for (const [title, html] of [["Answer", whole.html.answer], ["Analysis", whole.html.analysis]]) {
        if (!html) continue;
        const text = element("div", "text");
        setText(text, html, question.language);
        into.append(element("h3", "", title), text);
      }
      if (!into.childElementCount) into.append(element("p", "hint", "The bank has no solution of it."));
    } catch (error) {
      showProblem(error);
      return;
    }
  }
  into.hidden = !into.hidden;
  button.setAttribute("aria-expanded", String(!into.hidden));
}

// Selecting and copying.

const cards = () => [...$("results").querySelectorAll("article")];
const isPicked = (article) => article.querySelector(".pick input").checked;

function showSelected() {
  const all = cards();
  const count = all.filter(isPicked).length;
  $("all").checked = count > 0 && count === all.length;
  $("all").indeterminate = count > 0 && count < all.length;
  $("copy-selected").disabled = !count;
  $("copy-selected").textContent = count ? `Copy ${count} ${count === 1 ? "id" : "ids"}` : "Copy ids";
}

async function copy(ids) {
  const text = ids.join("\n");
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not given to pages that come over plain HTTP from another machine
    const area = element("textarea", "hidden");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(ids.length === 1 ? `Copied ${ids[0]}` : `Copied ${ids.length} ids`);
}

let fading = 0;

function toast(text) {
  $("toast").textContent = text;
  $("toast").classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => $("toast").classList.remove("shown"), 2200);
}

function element(name, kind = "", text = "") {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}

// What is listened to.

$("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
$("search").addEventListener("reset", () => {
  chosen = [];
  running?.abort();
  setTimeout(() => {
    showChosen();
    showActive();
    clearResults();
    $("status").textContent = "";
    $("problem").hidden = true;
    $("welcome").hidden = false;
    $("text").focus();
  });
});
$("search").addEventListener("input", showActive);
$("text").addEventListener("input", () => { $("id").value = ""; });
$("again").addEventListener("click", () => search(lastSearch));
$("figures").addEventListener("change", () => { addFigures($("figures").files); $("figures").value = ""; });
$("all").addEventListener("change", () => {
  for (const article of cards()) article.querySelector(".pick input").checked = $("all").checked;
  showSelected();
});
$("copy-selected").addEventListener("click", () => copy(cards().filter(isPicked).map((article) => article.dataset.id)));

document.addEventListener("paste", (event) => addFigures(event.clipboardData.files));
document.addEventListener("dragover", (event) => {
  if (![...event.dataTransfer.types].includes("Files")) return;
  event.preventDefault();
  $("drop").classList.add("dropping");
});
for (const end of ["dragleave", "drop"]) {
  document.addEventListener(end, (event) => {
    if (end === "drop" || !event.relatedTarget) $("drop").classList.remove("dropping");
  });
}
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  addFigures(event.dataTransfer.files);
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog");
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target.closest("#search")) {
    event.preventDefault();
    $("search").requestSubmit();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || (typing && typing.type !== "checkbox")) return;
  if (event.key === "/") {
    event.preventDefault();
    $("text").focus();
  }
  const all = cards();
  const at = all.indexOf(event.target.closest("article"));
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && all.length && (at >= 0 || $("answers").contains(event.target))) {
    event.preventDefault();
    all[Math.min(all.length - 1, Math.max(0, at + step))].focus();
  }
  if (at >= 0 && event.key === "c") copy([all[at].dataset.id]);
  if (at >= 0 && event.key === "x") all[at].querySelector(".pick input").click();
});

// What there is to filter by.

function addOptions(select, values) {
  select.append(...values.map((value) => {
    const option = element("option", "", value);
    option.value = value;
    return option;
  }));
}

async function start() {
  $("filters").open = !matchMedia("(max-width: 900px)").matches;
  try {
    const there = await (await ask("/filters")).json();
    $("bank").textContent = `${there.bank}: ${there.questions.toLocaleString("en")} questions`;
    addOptions($("type"), there.types);
    addOptions($("language"), there.languages);
    addOptions($("concepts"), there.concepts);
    for (const [field, needs] of [["type", there.types], ["language", there.languages], ["concept", there.concepts]]) {
      $(field).parentElement.hidden = !needs.length;
    }
    $("least").closest(".wide").hidden = !there.difficulty.length;
    if (there.difficulty.length) [$("least").placeholder, $("most").placeholder] = there.difficulty.map(String);
    $("pictured").parentElement.hidden = !there.figures;
  } catch (error) {
    showProblem(error);
  }
}

start();
