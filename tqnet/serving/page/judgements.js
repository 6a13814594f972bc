// Judgements of pairs: what a teacher says of the query and a result.

import { button, element, send, toast } from "./parts.js";
import { t } from "./texts.js";

const LABELS = { similar: "Similar", variant: "Variant", duplicate: "Duplicate", no: "Unrelated" };

let judged = new Map(); // of the last query: id -> label

export function forgetJudgements() {
  judged = new Map();
}

export function showLabels(into, form, id, fail) {
  into.setAttribute("aria-label", t("To your question, this is"));
  into.replaceChildren(element("span", "", t("This is")), ...Object.entries(LABELS).map(([label, name]) => {
    const made = button(label, t(name), () => judge(into, form, id, label, fail));
    made.setAttribute("aria-pressed", String(judged.get(id) === label));
    return made;
  }));
}

async function judge(into, form, id, label, fail) {
  const kept = judged.get(id) === label ? null : label;
  const asked = form.get("id") ? { id: form.get("id") } : { text: form.get("text") };
  try {
    await send("/pairs", { ...asked, result: id, label: kept });
  } catch (error) {
    if (error.name !== "AbortError") fail(error);
    return;
  }
  judged.set(id, kept);
  for (const made of into.querySelectorAll("button")) made.setAttribute("aria-pressed", String(made.className === kept));
  toast(t(kept ? "Saved" : "Removed"));
}
