// What all parts of the page need: elements, the server, the key.

import { t } from "./texts.js";

export const $ = (id) => document.getElementById(id);

export function element(name, kind = "", text = "") {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}

export function button(kind, text, onClick) {
  const made = element("button", kind, text);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

export function thumbnail(file, name) {
  const image = element("img");
  image.alt = name;
  image.src = URL.createObjectURL(file);
  image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
  const item = element("li");
  item.append(image);
  return item;
}

let fading = 0;

export function toast(text) {
  $("toast").textContent = text;
  $("toast").classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => $("toast").classList.remove("shown"), 2200);
}

// The server.

const KEY = "tqnet-key";

export class Problem extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export async function ask(path, options = {}) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...(options.headers || {}), ...(key ? { "X-API-Key": key } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, t("The server does not answer. Is it running?"));
  }
  if (response.status === 401 || response.status === 403) {
    const isToWrite = response.status === 403;
    await askForKey(t(isToWrite ? "Saving this needs the key for writing."
      : key === null ? "It is kept until you close this tab." : "That was not the key."), isToWrite);
    return ask(path, options);
  }
  if (response.ok) return response;
  let why = response.status === 413 ? "that is more than this server takes" : response.statusText;
  try {
    why = (await response.json()).detail;
  } catch { /* no JSON: what stands between us and the server has answered */ }
  throw new Problem(response.status, why, Number(response.headers.get("Retry-After")) || 0);
}

export function send(path, body, options = {}) {
  return ask(path, { ...options, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

let asking = null;

function askForKey(why, mayCancel) {
  asking ??= new Promise((resolve, reject) => {
    $("key-why").textContent = why;
    $("key").value = "";
    const end = new AbortController();
    const finish = (how, value) => { end.abort(); asking = null; how(value); };
    $("key-dialog").addEventListener("cancel", (event) => {
      if (!mayCancel) event.preventDefault();
      else finish(reject, new DOMException("no key", "AbortError"));
    }, { signal: end.signal });
    $("key-form").addEventListener("submit", () => {
      sessionStorage.setItem(KEY, $("key").value);
      finish(resolve);
    }, { signal: end.signal });
    $("key-dialog").showModal();
  });
  return asking;
}

// Formulas.

// Markup of the server: escaped text and MathML, which holds nothing that runs or loads.
export function setText(into, html, language = "") {
  into.innerHTML = html;
  const isName = /^[a-z]{2,3}(-[a-z\d]{2,8})*$/i.test(language); // a bank may have anything there
  into.lang = isName ? language : (/[\u3400-\u9fff]/.test(into.textContent) ? "zh" : "");
  for (const math of into.querySelectorAll("math")) {
    const box = element("span", "formula");
    math.replaceWith(box);
    box.append(math);
  }
}

// A formula wider than its text scrolls in a box of its own.
export function fitFormulas(within = document) {
  const boxes = [...within.querySelectorAll(".formula")];
  for (const box of boxes) box.classList.remove("wide");
  const isWide = boxes.map((box) => {
    const widths = [...box.querySelectorAll("math, math > *")].map((part) => part.getBoundingClientRect().width);
    const text = box.closest(".text");
    return Math.max(...widths) > text.clientWidth - parseFloat(getComputedStyle(text).paddingLeft) + 0.5;
  });
  boxes.forEach((box, at) => {
    box.classList.toggle("wide", isWide[at]);
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", t("Wide formula: scrolls sideways")]]) {
      if (isWide[at]) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  });
}

let lastWidth = 0;
new ResizeObserver(([entry]) => {
  if (Math.round(entry.contentRect.width) !== lastWidth) fitFormulas();
  lastWidth = Math.round(entry.contentRect.width);
}).observe(document.body);
document.fonts.ready.then(() => fitFormulas());
