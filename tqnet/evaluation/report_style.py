"""The style sheet of the report: one file, no fonts from elsewhere, light and dark."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1d2229; --soft: #626b77; --line: #e3e6ea;
  --accent: #0b63a5; --yes: #0a7a55; --yes-soft: #e3f4ec; --no: #8a5a12; --no-soft: #f7f0e3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171c; --card: #1c2027; --ink: #e4e8ed; --soft: #98a2af; --line: #2e343d;
    --accent: #6cb6ee; --yes: #5fd0a0; --yes-soft: #17352a; --no: #dcae68; --no-soft: #352b1a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 Inter, "Segoe UI", system-ui, -apple-system, "Helvetica Neue", Arial, "Noto Sans",
    "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif;
}
main { max-width: 1120px; margin: 0 auto; padding: 48px 28px 72px; }
header .kicker { color: var(--accent); font-weight: 600; font-size: 14px; margin: 0 0 6px; }
h1 { font-size: 34px; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 10px; text-wrap: balance; }
.lead { color: var(--soft); font-size: 17px; max-width: 70ch; margin: 0; }
h2 { font-size: 21px; letter-spacing: -0.01em; margin: 52px 0 6px; }
section > p { color: var(--soft); max-width: 76ch; margin: 0 0 16px; font-size: 15px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 20px 22px; }
.card + .card { margin-top: 16px; }
.tiles .card { margin: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 14px; margin: 30px 0 0; }
.tile b { display: block; font-size: 30px; line-height: 1.2; letter-spacing: -0.02em; font-weight: 650; }
.tile span { color: var(--soft); font-size: 14px; }
.tile i { display: block; font-style: normal; font-size: 13px; color: var(--soft); margin-top: 2px; }
.scroll { overflow-x: auto; padding: 6px 22px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14.5px; }
th { color: var(--soft); font-weight: 500; font-size: 13px; vertical-align: bottom; }
th, td { padding: 9px 0 9px 18px; text-align: right; border-top: 1px solid var(--line); }
td { white-space: nowrap; }
td small { display: block; color: var(--soft); font-size: 12px; }
.note { color: var(--soft); font-size: 13px; margin: 8px 2px 0; }
thead th { border-top: 0; line-height: 1.3; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tbody td:first-child { font-weight: 550; }
td.best { font-weight: 700; color: var(--accent); }
tr.level:not(:first-child) td { border-top: 2px solid var(--soft); }
tr.level td { color: var(--soft); font-weight: 400; }
picture img { display: block; width: 100%; height: auto; }
.narrow picture { display: block; max-width: 760px; }
.example { padding: 0; overflow: hidden; }
.query { padding: 20px 22px; border-bottom: 1px solid var(--line); }
.label { color: var(--soft); font-size: 13px; margin: 0 0 6px; }
.text { white-space: pre-line; overflow-wrap: anywhere; }
.text math { font-size: 1.06em; }
.text math[display="block"] { white-space: normal; margin: 6px 0; }
.figures { display: flex; flex-wrap: wrap; gap: 10px; margin-top: 12px; }
.figures img { max-height: 170px; max-width: 100%; background: #fff; border-radius: 6px; padding: 6px;
  border: 1px solid var(--line); }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); }
.columns > div { padding: 16px 22px 20px; min-width: 0; }
.columns > div + div { border-left: 1px solid var(--line); }
.columns h3 { margin: 0 0 4px; font-size: 15px; font-weight: 600; display: flex; justify-content: space-between; }
.columns h3 span { color: var(--soft); font-weight: 450; font-size: 13.5px; }
ol { list-style: none; margin: 0; padding: 0; }
li { display: grid; grid-template-columns: auto 1fr; gap: 4px 12px; padding: 11px 0; font-size: 14px;
  border-top: 1px solid var(--line); line-height: 1.45; }
li:first-child { border-top: 0; }
li .text { white-space: normal; }
.case li { display: block; }
li .figures img { max-height: 84px; padding: 3px; }
.mark { font-size: 12px; font-weight: 600; border-radius: 99px; padding: 2px 9px; align-self: start;
  min-width: 112px; text-align: center; }
.mark.yes { color: var(--yes); background: var(--yes-soft); }
.mark.no { color: var(--no); background: var(--no-soft); }
.missing { color: var(--soft); font-size: 13px; font-style: italic; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 8px 24px; margin: 0; font-size: 14.5px; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
code { font: 0.9em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
footer { color: var(--soft); font-size: 13px; margin-top: 40px; }
@media (max-width: 720px) {
  main { padding: 28px 16px 48px; }
  h1 { font-size: 27px; }
  .columns > div + div { border-left: 0; border-top: 1px solid var(--line); }
  dl { grid-template-columns: 1fr; gap: 2px; } dd { margin-bottom: 8px; }
}
@media print { body { background: #fff; } .card { break-inside: avoid; } }
"""
