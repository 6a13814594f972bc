// The search page: searching, results, keys.

import { listenToConcepts, nameConcepts, showConcepts } from "./concepts.js";
import { forgetJudgements, showLabels } from "./judgements.js";
import { $, Problem, ask, element, fitFormulas, setText, thumbnail, toast } from "./parts.js";
import { askFor, clearQuery, conditions, listenToQuery, query, readAddress, showActive, showChosen, showFilters, showKeypad,
  writeAddress } from "./query.js";
import { isChinese, t, useLanguage } from "./texts.js";

const LARGEST_OFFSET = 900;
const RELATIONS = { identical: "the same", near: "nearly the same", variant: "other numbers" };

let there = null; // what GET /filters says
let running = null;
let lastSearch = null; // { form, figures, answer, results, milliseconds, remarks }
let shownPictures = []; // addresses to be given back when the pictures are no longer shown

// Searching.

async function search({ form = query(), keepAddress = false } = {}) {
  if (!form.get("id") && !form.get("text") && !form.getAll("figures").length) {
    showProblem(new Problem(400, t("Type a question, or add a figure.")));
    $("text").focus();
    return;
  }
  const remarks = keepAddress ? [] : writeAddress();
  const figures = form.getAll("figures");
  lastSearch = { form };
  const started = performance.now();
  await asked(form, (answer) => {
    lastSearch = { form, figures, answer, results: answer.results, milliseconds: performance.now() - started, remarks };
    forgetJudgements();
    show();
    if (matchMedia("(max-width: 900px)").matches) $("answers").scrollIntoView();
  }, clearResults);
}

async function showMore() {
  const { form, results } = lastSearch;
  const next = new FormData();
  for (const [name, value] of form) next.append(name, value);
  next.set("offset", results.length);
  await asked(next, (answer) => {
    lastSearch.results = [...results, ...answer.results];
    lastSearch.answer.more = answer.more;
    lastSearch.milliseconds = null;
    appendResults(answer.results, results.length);
    $("results").children[results.length]?.firstElementChild.focus();
  });
}

async function asked(form, use, fail = () => {}) {
  running?.abort();
  const controller = running = new AbortController();
  $("answers").setAttribute("aria-busy", "true");
  $("problem").hidden = true;
  $("status").textContent = t("Searching …");
  try {
    const response = await ask("/search", { method: "POST", body: form, signal: controller.signal });
    const answer = await response.json();
    use(answer);
  } catch (error) {
    if (error.name === "AbortError") return;
    fail();
    showProblem(error);
  } finally {
    if (running === controller) $("answers").setAttribute("aria-busy", "false");
  }
}

function showProblem(error) {
  $("status").textContent = "";
  const busy = error.status === 429;
  $("why").textContent = busy
    ? t("The server is busy. Try again in {seconds} seconds.", { seconds: error.retryAfter || 2 })
    : error instanceof Problem ? sentence(t(error.message)) : t("Something went wrong in this page.");
  $("again").hidden = !(busy || error.status === 0 || error.status >= 500);
  $("problem").hidden = false;
  if (!(error instanceof Problem)) throw error;
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…。？！]$/.test(text) ? "" : isChinese() ? "。" : ".");
}

// Results.

function clearResults() {
  for (const picture of shownPictures) URL.revokeObjectURL(picture);
  shownPictures = [];
  $("results").replaceChildren();
  $("repeats").replaceChildren();
  for (const id of ["tools", "asked", "notes", "repeated", "more"]) $(id).hidden = true;
}

function show() {
  const { answer, figures, results, remarks } = lastSearch;
  clearResults();
  $("welcome").hidden = true;
  const notes = [...answer.notes.map((note) => t(note)), ...reasons(answer.dropped), ...remarks];
  $("notes").replaceChildren(...notes.map((note) => element("li", "", sentence(note))));
  $("notes").hidden = !notes.length;
  setText($("asked").querySelector(".text"), answer.query.stem);
  $("asked").querySelector(".thumbs").replaceChildren(
    ...figures.map((file, at) => thumbnail(file, t("Figure {number} of your question", { number: at + 1 }))));
  $("asked").hidden = !answer.query.stem && !figures.length;
  $("repeats").replaceChildren(...answer.duplicates.map(repeat));
  $("repeated").hidden = !answer.duplicates.length;
  const onlyVariants = answer.duplicates.every(({ relation }) => relation === "variant");
  $("repeated-title").textContent = t(onlyVariants ? "You have this with other numbers" : "You already have this");
  appendResults(results, 0);
}

function appendResults(added, offset) {
  const { answer, results, milliseconds } = lastSearch;
  const mostWords = Math.max(...results.map((result) => result.words || 0), 1e-9);
  $("results").append(...added.map((result, at) => card(result, offset + at + 1, mostWords)));
  const found = { count: results.length + answer.duplicates.length, time: Math.round(milliseconds) };
  const timed = found.count === 1 ? "{count} question in {time} ms" : "{count} questions in {time} ms";
  $("status").textContent = found.count ? t(milliseconds === null ? "{count} questions" : timed, found) : t("No question matches.");
  if (!found.count) {
    const hint = t(conditions().length ? "Fewer filters may find more." : "Other words may find something.");
    $("results").replaceChildren(element("li", "hint", hint));
  }
  $("more").hidden = !answer.more || !added.length || results.length > LARGEST_OFFSET;
  $("tools").hidden = !found.count;
  showSelected();
  fitFormulas($("answers"));
}

// How many were left out, by reason.
function reasons(dropped) {
  const counts = new Map();
  for (const result of dropped) {
    const why = result.why.replace(/ \(.*/, "");
    counts.set(why, (counts.get(why) || 0) + 1);
  }
  return [...counts].map(([why, count]) => `${count} ${t(why)}`);
}

// A question of the bank, as a result or a repetition of the query.
function listed(question, name) {
  const item = $("result").content.cloneNode(true).firstElementChild;
  const part = (selector) => item.querySelector(selector);
  const article = part("article");
  article.dataset.id = question.id;
  article.setAttribute("aria-label", name);
  part(".pick input").setAttribute("aria-label", t("Select question {id}", question));
  part(".pick input").addEventListener("change", showSelected);
  part(".id").textContent = question.id;
  part(".copy").setAttribute("aria-label", t("Copy id {id}", question));
  part(".copy").addEventListener("click", () => copy([question.id]));
  const difficulty = question.difficulty === null ? "" : t("difficulty {value}", { value: question.difficulty });
  part(".tags").replaceChildren(...[difficulty, question.type].filter(Boolean).map((tag) => element("li", "", tag)));
  setText(part(".stem"), question.html.stem, question.language);
  part(".options").replaceChildren(...question.html.options.map((option) => {
    const choice = element("li", "text");
    setText(choice, option, question.language);
    return choice;
  }));
  part(".figures").replaceChildren(...Array.from({ length: question.figures }, (_, at) => figure(question.id, at + 1)));
  part(".path").textContent = question.knowledge.map((path) => path.join(" › ")).join(" · ");
  part(".solution").addEventListener("click", () => solution(article, question));
  part(".similar").addEventListener("click", () => {
    askFor(question.id);
    search();
    scrollTo({ top: 0 });
  });
  part(".labels").hidden = !there?.judgements || lastSearch.figures.length > 0; // figures are not kept
  if (!part(".labels").hidden) showLabels(part(".labels"), lastSearch.form, question.id, showProblem);
  return [item, part];
}

function card(result, place, mostWords) {
  const { question } = result;
  const [item, part] = listed(question, t("Result {place}, question {id}", { place, id: question.id }));
  part(".place").textContent = `${place}.`;
  measure(part(".score"), result.evidence === null ? null : result.score, result.score, 2);
  measure(part(".meaning"), result.cosine, result.cosine, 2);
  measure(part(".wording"), result.words, result.words / mostWords, 1);
  measure(part(".figure"), result.figure, result.figure, 2);
  part(".why").setAttribute("aria-label", t("Why it was found"));
  const common = result.shared.length ? [t("In common: {words}", { words: result.shared.join(", ") })] : [];
  part(".shared").textContent = [...common, ...result.remarks.map((remark) => sentence(t(remark)))].join(" · ");
  if (result.more.length) part("footer").before(folded(result.more));
  return item;
}

// Questions that are like a result: other numbers, other figures, parts of one story.
function folded(more) {
  const list = element("ul");
  list.append(...more.map((question) => {
    const text = element("div", "text");
    setText(text, question.html.stem, question.language);
    const line = element("li");
    line.append(element("code", "id", question.id), text);
    return line;
  }));
  const details = element("details", "folded");
  details.append(element("summary", "", t("{count} more like this", { count: more.length })), list);
  details.addEventListener("toggle", () => fitFormulas(details));
  return details;
}

function repeat({ relation, differs, question }) {
  const [item, part] = listed(question, t("In the bank, question {id}", question));
  part("article").classList.replace("card", "repeat");
  part(".place").replaceWith(element("b", `relation ${relation}`, t(RELATIONS[relation])));
  part(".why").remove();
  if (!differs.length) return item;
  const list = element("ul", "differs");
  list.setAttribute("aria-label", t("What differs"));
  list.append(...differs.map((pair) => {
    const line = element("li");
    for (const [side, title] of [["query", "yours"], ["question", "in the bank"]]) {
      const text = pair[side];
      line.append(element("span", "side", t(title)), element(text ? "mark" : "i", side, text || t("nothing")));
    }
    return line;
  }));
  part("footer").before(list);
  return item;
}

function measure(into, value, share, digits) {
  into.hidden = value === null;
  if (value === null) return;
  into.querySelector(".bar i").style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  into.querySelector("b").textContent = value.toFixed(digits);
}

function figure(id, number) {
  const item = element("li");
  item.dataset.path = `/questions/${encodeURIComponent(id)}/figures/${number}`;
  item.dataset.name = t("Figure {number} of question {id}", { number, id });
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
    }).catch(() => target.replaceChildren(element("span", "missing", t("figure not readable"))));
  }
}, { rootMargin: "400px" });

async function solution(article, question) {
  const into = article.querySelector(".solved");
  if (into.hidden && !into.childElementCount) {
    try {
      const whole = await (await ask(`/questions/${encodeURIComponent(question.id)}`)).json();
      for (const [title, html] of [["Answer", whole.html.answer], ["Analysis", whole.html.analysis]]) {
        if (!html) continue;
        const text = element("div", "text");
        setText(text, html, question.language);
        into.append(element("h3", "", t(title)), text);
      }
      if (!into.childElementCount) into.append(element("p", "hint", t("The bank has no solution for it.")));
    } catch (error) {
      showProblem(error);
      return;
    }
  }
  into.hidden = !into.hidden;
  article.querySelector(".solution").setAttribute("aria-expanded", String(!into.hidden));
  fitFormulas(into);
}

// Selecting and copying.

const cards = () => [...$("answers").querySelectorAll("article")];
const isPicked = (article) => article.querySelector(".pick input").checked;

function showSelected() {
  const all = cards();
  const count = all.filter(isPicked).length;
  $("all").checked = count > 0 && count === all.length;
  $("all").indeterminate = count > 0 && count < all.length;
  $("copy-selected").disabled = !count;
  $("copy-selected").textContent = t(["Copy ids", "Copy {count} id"][count] ?? "Copy {count} ids", { count });
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
  toast(ids.length === 1 ? t("Copied {id}", { id: ids[0] }) : t("Copied {count} ids", { count: ids.length }));
}

// What is listened to.

function showWelcome() {
  running?.abort();
  lastSearch = null;
  clearResults();
  $("status").textContent = "";
  $("problem").hidden = true;
  $("welcome").hidden = false;
}

$("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
$("search").addEventListener("reset", () => setTimeout(() => {
  clearQuery();
  showActive();
  showWelcome();
  writeAddress();
  $("text").focus();
}));
$("again").addEventListener("click", () => search({ form: lastSearch.form, keepAddress: true }));
$("more").addEventListener("click", showMore);
$("all").addEventListener("change", () => {
  for (const article of cards()) article.querySelector(".pick input").checked = $("all").checked;
  showSelected();
});
$("copy-selected").addEventListener("click", () => copy(cards().filter(isPicked).map((article) => article.dataset.id)));
$("language-switch").addEventListener("click", () => translate(isChinese() ? "en" : "zh"));

function returnToAddress() {
  if (readAddress()) search({ keepAddress: true });
  else showWelcome();
}

addEventListener("popstate", returnToAddress);

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
  if (at < 0) return;
  if (event.key === "c") copy([all[at].dataset.id]);
  if (event.key === "x") all[at].querySelector(".pick input").click();
  all[at].querySelectorAll(".labels button")[Number(event.key) - 1]?.click();
});

function translate(language) {
  useLanguage(language);
  showKeypad();
  showChosen();
  nameConcepts();
  $("language-switch").textContent = isChinese() ? "English" : "中文";
  $("language-switch").lang = isChinese() ? "en" : "zh-CN";
  if (there) {
    const count = there.questions.toLocaleString("en");
    $("bank").textContent = t("{bank}: {count} questions", { bank: there.bank, count });
    if (there.difficulty.length) [$("least").placeholder, $("most").placeholder] = there.difficulty.map(String);
  }
  if (lastSearch?.answer) show();
}

async function start() {
  $("filters").open = !matchMedia("(max-width: 900px)").matches;
  listenToQuery();
  listenToConcepts();
  translate();
  try {
    there = await (await ask("/filters")).json();
    showFilters(there);
    showConcepts(there.concepts, there.more.includes("concepts"));
    translate();
  } catch (error) {
    showProblem(error);
    return;
  }
  if (location.search) returnToAddress();
}

start();
