// The concepts of the bank as a tree below the field to filter by one.

import { $, element } from "./parts.js";
import { t } from "./texts.js";

const items = () => [...$("concepts").querySelectorAll("[role=treeitem]")];
const visible = () => items().filter((item) => item.offsetParent !== null);
const children = (item) => item.querySelector(":scope > ul");

export function showConcepts(facets, isCut) {
  const counts = new Map(facets.map(({ value, questions }) => [value, questions]));
  // With the ancestors, also where the list was cut; they come before their descendants.
  const paths = new Set(facets.flatMap(({ value }) =>
    value.split("/").map((_, end, names) => names.slice(0, end + 1).join("/"))));
  const made = new Map();
  $("concepts").replaceChildren();
  for (const path of [...paths].sort((one, other) => one.localeCompare(other))) {
    const end = path.lastIndexOf("/");
    const above = made.get(path.slice(0, Math.max(0, end)));
    const item = conceptItem(path, path.slice(end + 1), counts.get(path) ?? 0);
    made.set(path, item);
    if (above && !children(above)) {
      const list = element("ul");
      list.setAttribute("role", "group");
      above.append(list);
      expand(above, false);
    }
    (above ? children(above) : $("concepts")).append(item);
  }
  nameConcepts();
  $("concepts-cut").hidden = !isCut;
}

function conceptItem(path, name, count) {
  const item = element("li");
  Object.assign(item.dataset, { path, name, count });
  item.tabIndex = -1;
  item.setAttribute("role", "treeitem");
  item.setAttribute("aria-selected", "false");
  const row = element("span", "row");
  row.append(element("span", "twist"), element("span", "name", name), element("span", "questions", count || ""));
  item.append(row);
  return item;
}

export function nameConcepts() {
  for (const item of items()) item.setAttribute("aria-label", t("{name}, {count} questions", item.dataset));
}

function expand(item, isOpen) {
  if (!children(item)) return;
  item.setAttribute("aria-expanded", String(isOpen));
  children(item).hidden = !isOpen;
}

function open(isOpen) {
  const has = isOpen && items().some((item) => !item.hidden);
  $("concept-tree").hidden = !has;
  $("concept").setAttribute("aria-expanded", String(has));
  if (has) $("concept-tree").scrollIntoView({ block: "nearest" });
}

// Shows the concepts that hold the text, and those above them.
function filter() {
  const text = $("concept").value.trim().toLowerCase();
  const whole = items().find((item) => item.dataset.path.toLowerCase() === text);
  for (const item of items()) {
    item.hidden = Boolean(text) && !whole;
    item.setAttribute("aria-selected", String(item === whole));
    expand(item, false);
  }
  for (const item of items()) {
    if (!text || !item.dataset.path.toLowerCase().includes(text)) continue;
    item.hidden = false;
    for (let above = item.parentElement.closest("li"); above; above = above.parentElement.closest("li")) {
      above.hidden = false;
      expand(above, true);
    }
  }
}

function choose(item) {
  $("concept").value = item.dataset.path;
  $("concept").dispatchEvent(new Event("input", { bubbles: true }));
  open(false);
  $("concept").focus();
}

export function listenToConcepts() {
  $("concept").addEventListener("input", () => { filter(); open(true); });
  $("concept").addEventListener("click", () => { filter(); open(true); });
  $("concept").addEventListener("keydown", (event) => {
    if (event.key === "Escape") open(false);
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    filter();
    open(true);
    visible()[0]?.focus();
  });
  $("concept").parentElement.addEventListener("focusout", (event) => {
    if (!$("concept").parentElement.contains(event.relatedTarget)) open(false);
  });
  $("concepts").addEventListener("mousedown", (event) => event.preventDefault());
  $("concepts").addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (event.target.closest(".twist") && children(item)) expand(item, item.getAttribute("aria-expanded") !== "true");
    else if (item) choose(item);
  });
  $("concepts").addEventListener("keydown", (event) => {
    const item = event.target.closest("li");
    const shown = visible();
    const at = shown.indexOf(item);
    const isOpen = item.getAttribute("aria-expanded") === "true";
    const moves = {
      ArrowDown: () => shown[Math.min(at + 1, shown.length - 1)].focus(),
      ArrowUp: () => (at ? shown[at - 1] : $("concept")).focus(),
      ArrowRight: () => (isOpen ? shown[at + 1]?.focus() : expand(item, true)),
      ArrowLeft: () => (isOpen ? expand(item, false) : item.parentElement.closest("li")?.focus()),
      Home: () => shown[0].focus(),
      End: () => shown.at(-1).focus(),
      Enter: () => choose(item),
      " ": () => choose(item),
      Escape: () => { open(false); $("concept").focus(); },
    };
    if (!moves[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  });
}
