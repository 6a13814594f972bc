// The query: text, figures and filters, the address that holds them, the keypad and the preview.

import { $, Problem, button, element, fitFormulas, send, setText, thumbnail, toast } from "./parts.js";
import { t } from "./texts.js";

const MOST_FIGURES = 4;

// Characters of an address that servers and mail programs pass on.
const LONGEST_ADDRESS = 8000;

// What the address holds: the ids of the fields that differ from their defaults.
const FIELDS = ["text", "id", "least", "most", "type", "language", "concept", "pictured", "k", "by", "duplicates", "student",
  "own-difficulty"];

let chosen = [];

export function conditions() {
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

export function showActive() {
  const count = conditions().length;
  $("active").hidden = count === 0;
  $("active").textContent = count;
}

export function query() {
  const form = new FormData();
  for (const condition of conditions()) form.append("filters", condition);
  for (const field of ["k", "by", "duplicates", "student"]) if ($(field).value) form.append(field, $(field).value);
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

export function askFor(id) {
  clearQuery();
  $("known").open = true;
  $("id").value = id;
}

export function clearQuery() {
  $("text").value = "";
  chosen = [];
  showChosen();
  preview();
}

// The address.

const defaultOf = (field) => (field.tagName === "SELECT"
  ? [...field.options].find((option) => option.defaultSelected)?.value ?? field.options[0].value
  : field.defaultValue);

// Puts the query into the address; returns what it cannot hold.
export function writeAddress() {
  const changed = FIELDS.filter((id) => $(id).value.trim() && $(id).value !== defaultOf($(id)));
  const found = new URLSearchParams(changed.map((id) => [id, $(id).value.trim()]));
  const isTooLong = String(found).length > LONGEST_ADDRESS;
  if (isTooLong) found.delete("text");
  const address = String(found) ? `?${found}` : location.pathname;
  if (address !== (location.search || location.pathname)) history.pushState(null, "", address);
  if (isTooLong) return [t("The question is too long for the address of this page.")];
  return chosen.length && !$("id").value
    ? [t("The address of this page holds the text and the filters, but not the figures.")] : [];
}

// Fills the form from the address; returns whether there is something to search for.
export function readAddress() {
  const held = new URLSearchParams(location.search);
  for (const id of FIELDS) {
    const field = $(id);
    const value = held.get(id) ?? defaultOf(field);
    // A link may name a value that this bank does not have.
    if (field.tagName === "SELECT" && ["type", "language"].includes(id) && ![...field.options].some((option) => option.value === value)) {
      field.append(new Option(value, value));
    }
    field.value = value;
    if (field.tagName === "SELECT" && field.selectedIndex < 0) field.value = defaultOf(field);
  }
  $("known").open = Boolean($("id").value);
  chosen = [];
  showChosen();
  showActive();
  preview();
  return Boolean($("text").value.trim() || $("id").value);
}

// Figures.

function addFigures(files) {
  const figures = [...files].filter((file) => file.type.startsWith("image/"));
  if (!figures.length) return;
  if (chosen.length + figures.length > MOST_FIGURES) toast(t("At most {count} figures", { count: MOST_FIGURES }));
  chosen = [...chosen, ...figures].slice(0, MOST_FIGURES);
  $("id").value = "";
  showChosen();
}

export function showChosen() {
  $("chosen").replaceChildren(...chosen.map((file, at) => {
    const item = thumbnail(file, t("Figure {number} of your question", { number: at + 1 }));
    const remove = button("", "×", () => {
      chosen = chosen.filter((other) => other !== file);
      showChosen();
      $("text").focus();
    });
    remove.setAttribute("aria-label", t("Remove figure {number}", { number: at + 1 }));
    item.append(remove);
    return item;
  }));
}

// The preview.

let waiting = 0;
let rendering = null;

function preview() {
  clearTimeout(waiting);
  rendering?.abort();
  const text = $("text").value.trim();
  if (!text) $("preview").hidden = true;
  else waiting = setTimeout(render, 300, text);
}

async function render(text) {
  const controller = rendering = new AbortController();
  try {
    const typed = await (await send("/render", { text }, { signal: controller.signal })).json();
    setText($("preview").querySelector(".text"), typed.stem);
    $("preview").hidden = !$("preview").querySelector("math, code");
    fitFormulas($("preview"));
  } catch (error) { // a search will say what is wrong
    if (!(error instanceof Problem) && error.name !== "AbortError") throw error;
  }
}

// The keypad: label, name, what it writes, what it writes in LaTeX. The first ▢ takes what is selected.
const SIGNS = [
  ["a⁄b", "fraction", "(▢)/(▢)", "\\frac{▢}{▢}"],
  ["xⁿ", "power", "^(▢)", "^{▢}"],
  ["x²", "square", "²", "^2"],
  ["√", "root", "√(▢)", "\\sqrt{▢}"],
  ["∛", "cube root", "∛(▢)", "\\sqrt[3]{▢}"],
  ["xₙ", "index", "_(▢)", "_{▢}"],
  ["≤", "at most", "≤", "\\le "],
  ["≥", "at least", "≥", "\\ge "],
  ["≠", "not equal", "≠", "\\ne "],
  ["×", "times", "×", "\\times "],
  ["π", "pi", "π", "\\pi "],
  ["∠", "angle", "∠", "\\angle "],
  ["°", "degrees", "°", "^\\circ "],
  ["∫", "integral", "∫_(▢)^(▢) ", "\\int_{▢}^{▢} "],
  ["∑", "sum", "∑_(▢)^(▢) ", "\\sum_{▢}^{▢} "],
];

function insert(plain, latex) {
  const field = $("text");
  const { selectionStart: start, selectionEnd: end, value } = field;
  const dollars = value.slice(0, start).match(/(?<!\\)\$/g) || [];
  const selected = value.slice(start, end);
  const filled = (dollars.length % 2 ? latex : plain).replace("▢", () => selected || "▢");
  const gap = filled.indexOf("▢");
  field.focus();
  field.setRangeText(filled.replaceAll("▢", ""), start, end, "end");
  if (gap >= 0) field.setSelectionRange(start + gap, start + gap);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

export function showKeypad() {
  const at = Math.max(0, [...$("keypad").children].findIndex((key) => key.tabIndex === 0));
  $("keypad").replaceChildren(...SIGNS.map(([label, name, plain, latex], number) => {
    const key = button("", label, () => insert(plain, latex));
    key.setAttribute("aria-label", t(name));
    key.title = t(name);
    key.tabIndex = number === at ? 0 : -1;
    return key;
  }));
}

export function listenToQuery() {
  $("keypad").addEventListener("mousedown", (event) => event.preventDefault()); // the text keeps the cursor
  $("keypad").addEventListener("keydown", (event) => {
    const keys = [...$("keypad").children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = keys.at((keys.indexOf(event.target) + step) % keys.length);
    for (const key of keys) key.tabIndex = key === next ? 0 : -1;
    next.focus();
  });
  $("search").addEventListener("input", showActive);
  $("text").addEventListener("input", () => { $("id").value = ""; preview(); });
  $("figures").addEventListener("change", () => { addFigures($("figures").files); $("figures").value = ""; });
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
}

// What there is to filter by.

export function showFilters(there) {
  const fields = [["type", there.types], ["language", there.languages]];
  for (const [field, facets] of fields) {
    $(field).append(...facets.map(({ value, questions }) => new Option(`${value} (${questions})`, value)));
  }
  for (const [field, facets] of [...fields, ["concept", there.concepts]]) {
    $(field).parentElement.hidden = !facets.length;
  }
  $("least").closest(".wide").hidden = !there.difficulty.length;
  $("pictured").parentElement.hidden = !there.figures;
}
