// The texts of the page: English is written where it is used, Chinese is in this table.

const CHINESE = {
  "Similar questions": "相似题检索",
  "Skip to the results": "跳到结果",
  "What to look for": "检索条件",
  "Question": "题目",
  "Type or paste a question": "输入或粘贴一道题",
  "Figures of your question": "题目的插图",
  "Add a figure": "添加插图",
  "or drop or paste one here": "也可拖放或粘贴到这里",
  "Formulas as on paper, or in LaTeX:": "公式可以直接写，也可以用 LaTeX：",
  "Mathematical symbols": "数学符号",
  "As it will be read": "识别为",
  "Or start from a question of the bank": "或从题库中的一道题开始",
  "Its id": "题目编号",
  "Filters": "筛选",
  "Difficulty": "难度",
  "Difficulty from": "难度下限",
  "Difficulty to": "难度上限",
  "from": "从",
  "to": "到",
  "Type": "题型",
  "any": "不限",
  "Language": "语言",
  "Concept": "知识点",
  "Concepts": "知识点",
  "There are more concepts than these: type the full path.": "知识点不止这些：可输入完整路径。",
  "Figures": "插图",
  "with figures": "有插图",
  "without": "无插图",
  "How many": "数量",
  "For": "适合",
  "anyone": "所有学生",
  "a strong student: as hard or harder": "学有余力的学生：不更容易",
  "a weak student: as hard or easier": "基础薄弱的学生：不更难",
  "Its difficulty": "本题难度",
  "unknown": "未知",
  "Compare by": "比较依据",
  "wording and meaning": "措辞与含义",
  "wording": "措辞",
  "meaning": "含义",
  "Questions you already have": "题库已有的题",
  "show first": "排在最前",
  "leave out": "不显示",
  "show only these": "只显示这些",
  "Find similar questions": "查找相似题",
  "Clear": "清空",
  "Results": "结果",
  "Try again": "重试",
  "What would you like more of?": "想找哪类题？",
  "Type or paste a question, in English or Chinese, with or without a figure. Questions that ask for the same thing come first, whatever their numbers and names.":
    "输入或粘贴一道中文或英文题目，可附插图。考查内容相同的题排在前面，不论数字和名称。",
  "search": "检索",
  "back to the question": "回到题目",
  "from result to result": "在结果间移动",
  "copy the id of a result": "复制结果的编号",
  "select it": "选中",
  "judge it, if judgements are saved": "评判（服务器保存评判时）",
  "Your question": "你的题目",
  "You already have this": "题库中已有此题",
  "You have this with other numbers": "题库中已有数字不同的此题",
  "Select all": "全选",
  "More results": "更多结果",
  "This server asks for a key": "此服务器需要密钥",
  "It is kept until you close this tab.": "密钥只保留到关闭此标签页。",
  "That was not the key.": "密钥不正确。",
  "Saving this needs the key for writing.": "保存评判需要写入密钥。",
  "Key": "密钥",
  "Use it": "确定",
  "Copy id": "复制编号",
  "Likeness": "相似度",
  "Meaning": "含义",
  "Wording": "措辞",
  "Figure": "图形",
  "Solution": "解答",
  "Similar to this": "找与此相似的题",
  "API": "接口",
  // Written by the scripts.
  "{bank}: {count} questions": "{bank}：{count} 道题",
  "The server does not answer. Is it running?": "服务器没有响应。它在运行吗？",
  "Type a question, or add a figure.": "请输入题目或添加插图。",
  "Searching …": "正在检索……",
  "The server is busy. Try again in {seconds} seconds.": "检索的人很多。请在 {seconds} 秒后重试。",
  "Something went wrong in this page.": "页面出错了。",
  "{count} question in {time} ms": "{count} 道题，用时 {time} 毫秒",
  "{count} questions in {time} ms": "{count} 道题，用时 {time} 毫秒",
  "{count} questions": "{count} 道题",
  "No question matches.": "没有符合条件的题。",
  "Fewer filters may find more.": "减少筛选条件可以找到更多题。",
  "Other words may find something.": "换个说法也许能找到。",
  "At most {count} figures": "最多 {count} 幅插图",
  "Figure {number} of your question": "你的题目的插图 {number}",
  "Remove figure {number}": "移除插图 {number}",
  "Figure {number} of question {id}": "题目 {id} 的插图 {number}",
  "figure not readable": "插图无法读取",
  "The address of this page holds the text and the filters, but not the figures.": "本页地址包含文字和筛选条件，不包含插图。",
  "The question is too long for the address of this page.": "题目太长，无法写入本页地址。",
  "Result {place}, question {id}": "结果 {place}，题目 {id}",
  "In the bank, question {id}": "题库中的题目 {id}",
  "Select question {id}": "选中题目 {id}",
  "Copy id {id}": "复制编号 {id}",
  "Copied {id}": "已复制 {id}",
  "Copied {count} ids": "已复制 {count} 个编号",
  "Copy ids": "复制编号",
  "Copy {count} id": "复制 {count} 个编号",
  "Copy {count} ids": "复制 {count} 个编号",
  "difficulty {value}": "难度 {value}",
  "{count} more like this": "还有 {count} 道同类题",
  "In common: {words}": "共同之处：{words}",
  "Why it was found": "检索依据",
  "Answer": "答案",
  "Analysis": "解析",
  "The bank has no solution for it.": "题库中没有此题的解答。",
  "Wide formula: scrolls sideways": "长公式，可左右滑动",
  "the same": "完全相同",
  "nearly the same": "几乎相同",
  "other numbers": "数字不同",
  "What differs": "不同之处",
  "yours": "你的",
  "in the bank": "题库",
  "nothing": "无",
  "{name}, {count} questions": "{name}，{count} 道题",
  "Similar": "相似",
  "Variant": "变式",
  "Duplicate": "重复",
  "Unrelated": "无关",
  "To your question, this is": "与你的题目相比，此题",
  "This is": "此题",
  "Saved": "已保存",
  "Removed": "已撤回",
  "fraction": "分数",
  "power": "乘方",
  "square": "平方",
  "root": "平方根",
  "cube root": "立方根",
  "index": "下标",
  "at most": "小于等于",
  "at least": "大于等于",
  "not equal": "不等于",
  "times": "乘",
  "pi": "圆周率",
  "angle": "角",
  "degrees": "度",
  "integral": "积分",
  "sum": "求和",
  // From the server.
  "the model of this index reads no figures: the text is searched, and figures that look like the query's":
    "本索引的模型不读插图：检索文字和外观相似的图形",
  "the model of this index reads no figures: only figures that look like the query's are searched for":
    "本索引的模型不读插图：只检索外观相似的图形",
  "nothing similar in this bank": "题库中没有相似的题目",
  "there was no time to rank: this is the order of retrieval": "来不及排序：按初步检索的顺序显示",
  "student has no effect: the query has no difficulty (for a typed one, give difficulty)":
    "题目的难度未知，未按学生水平筛选；输入的题目可填写难度",
  "dropped: easier than the query": "道更容易的题未显示",
  "dropped: harder than the query": "道更难的题未显示",
};

// Texts of the server that name something.
const PATTERNS = [
  [/^no concept '(.*)'; did you mean '(.*)'\?$/, "没有知识点“$1”；是不是“$2”？"],
  [/^no concept '(.*)'$/, "没有知识点“$1”"],
  [/^searched for "(.*)"$/, "按“$1”检索"],
  [/^id: the index has no question '(.*)'$/, "题库中没有题目“$1”"],
];

const CHOICE = "tqnet-language";
let language = (localStorage.getItem(CHOICE) || navigator.language).toLowerCase().startsWith("zh") ? "zh" : "en";

export const isChinese = () => language === "zh";

export function t(text, values = {}) {
  let found = text;
  if (isChinese()) {
    const [pattern, written] = PATTERNS.find(([pattern]) => pattern.test(text)) || [];
    found = pattern ? text.replace(pattern, written) : CHINESE[text] ?? text;
  }
  return found.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// What is written in the HTML: [English, how to replace it].
const written = [];

function collect(root) {
  for (const node of root.childNodes) {
    if (node.nodeType === Node.TEXT_NODE && /[A-Za-z]/.test(node.data)) {
      const [, before, text, after] = node.data.match(/^(\s*)(.*?)(\s*)$/s);
      written.push([text.replace(/\s+/g, " "), (shown) => { node.data = before + shown + after; }]);
    }
    if (node.nodeType !== Node.ELEMENT_NODE || ["CODE", "KBD", "SCRIPT"].includes(node.tagName)) continue;
    for (const name of ["aria-label", "placeholder"]) {
      if (node.hasAttribute(name)) written.push([node.getAttribute(name), (shown) => node.setAttribute(name, shown)]);
    }
    if (!node.hasAttribute("translate")) collect(node.content || node);
  }
}

export function useLanguage(chosen = language) {
  if (!written.length) collect(document.body);
  if (chosen !== language) localStorage.setItem(CHOICE, chosen);
  language = chosen;
  document.documentElement.lang = isChinese() ? "zh-CN" : "en";
  document.title = t("Similar questions");
  for (const [text, replace] of written) replace(t(text));
}
