import { SECRET_NAME, SHORT_NAME } from './secret-names.js';

/** The secrets in a value, and where the value ends. */
interface Value {
  readonly secrets: readonly (readonly [from: number, to: number])[];
  readonly end: number;
}

const { raw } = String;

/** Values that are not secrets: types, words of prose, placeholders and references. */
const HARMLESS = raw`\\*["'${'`'}]?(?:(?:string|text|number|integer|boolean|bytes|unknown|null|undefined|none|true|false|required|optional|missing|invalid|empty|must|should|your|include|omit|same-origin|inherit)(?![\w.+/=@!#$%^&*-])|\[redacted:|\*{3}|#[\da-f]{6}(?!\w)|(?:process|os|env|this|self|import\.meta)\.|\$[({]|\$[a-z_]\w*(?![\w!@#$%^&*])|<[^<>\n]{1,80}>|[{%]\w{0,60}[}%)]|\{\{|%[({sdvq])`;
/** A word of any length, but no expression that continues with a bracket. A comma or bracket inside of a word belongs to it. */
const WORD = raw`(?![([{)\]}]|[a-z_$][\w$.?!]{0,200}[([{](?!redacted:))(?:[^\s"'${'`'}\\,;&%<*(){}[\]]|,(?=[^\s"'\\,;(){}[\]])(?![\w.-]{1,60}=)|&(?!quot;|lt;)|%(?!2[26])|<(?!\/|br)|\*(?!\*(?:\s|$))|${'`'}(?=\w)|\\(?![nrtu"'\\])|[([{](?!redacted:)|[)\]}](?=[\w@#$%^!]))`;
const HAS_DIGIT = raw`(?=[^\s"'\\,;(){}[\]\d]{0,64}\d)`;
/** Values behind an option, the name of a password and the name of a key. In front of a quote, the match is empty: see {@link leavesOf}. */
const [ANY_WORD, PASSWORD, KEY] = [
  raw`(?!\[)(?:[^\s"'${'`'}]|${'`'}(?=\w)){3,}`,
  `${WORD}{4,}`,
  `${HAS_DIGIT}${WORD}{4,}`,
].map((word) => new RegExp(raw`(?!${HARMLESS})(?:(?=\\*["'])|${word})`, 'iy')) as [RegExp, RegExp, RegExp];
/** A word of prose that looks like a secret. */
const CODE = new RegExp(
  raw`(?!${HARMLESS})(?=[^a-z\s"'\\,;(){}[\]]{0,100}[a-z])${HAS_DIGIT}${WORD}{6,}`,
  'iy',
);
/** Lines of YAML that are indented like the first one, or items of a list. */
const BLOCK =
  /(?!\[redacted:)(?<=^([ \t]*)(?:(-)[ \t]+)?)\S[^\n]*(?:\n(?:\1(?:[ \t]|\2)[^\n]*|[ \t]*(?=\n)))*/my;
/** The text of an element, up to its end. */
const CONTENT = new RegExp(raw`(?!${HARMLESS})(?:[^<&\]]|&(?!lt;\/)|\](?!\]>))+(?=(?:<|&lt;)\/|\]\]>)`, 'iy');

const COLOR = raw`\x1b\[[\d;]{0,9}m`;
/** Quotes, Markdown or a color after a name. */
const CLOSE = raw`(?:\\{0,127}["'${'`'}]{1,2}|\\|&quot;|%22|\*{1,2}|__|${COLOR})?\]?\*{0,2}[ \t]{0,40}`;
const PREFIX = '(?:[bfrul@$n]|[rbf]{2}|r#)';
const QUOTE = raw`(?=${PREFIX}?\\{0,127}["'])`;
/** In front of a value: tags of YAML or HTML, the letter of a string. */
const LEAD = raw`(?:[!&][\w!./-]{0,40}[ \t]{1,5}){0,2}(?:${PREFIX}(?=["'])|&quot;|%22|""(?=[^"\s,;:)}\]])|${'`'}(?=[^${'`'}\s]{1,20000}${'`'}(?!\w))|(?:bearer|basic)[ \t]|<\w{1,10}>(?=[^<>]{1,20000}<\/)|(?:\[\]byte\(|secretstr\(|convertto-securestring[ \t])(?=["']))?`;
const TYPE = raw`&?(?:'static )?[a-z][a-z.]{1,30}(?:[<[][a-z |]{0,30}[>\]]|[?*]| \| [a-z]{1,20})?`;
const EOL = raw`[ \t]{0,9}\\?(?:\r?\n|(?:\\{1,3}r)?\\{1,3}n)`;

/** The name of a secret as a value, and the name of the field that contains the secret. */
const PAIR = raw`\\{0,127}["']?(?:[,;]|:(?=[ \t]{0,9}\r?\n)|\s{0,9}\{)?\s{0,40}(?:\\{0,127}["']?(?:type|sensitive)\b[^{}<>,\n]{0,60}[,\n]\s{0,40})?\\{0,127}["']?(?:value|default)(?=\\{0,127}["']?\s{0,9}[:=])`;

/** Patterns of the text between the name of a secret and its value, each with a pattern of the value. The first match is used. */
const CONNECTORS: readonly (readonly [connector: string, value?: RegExp])[] = [
  // A list or object, behind a quoted name. A list of texts may be behind any name.
  [
    raw`\\{0,127}["']\s{0,9}(?:=>|[:=])\s{0,9}(?=[[{](?!redacted:))|["']?\s{0,9}[:=]\s{0,9}(?=\[\s{0,40}["'])`,
    /(?:)/y,
  ],
  // Blocks and lists of YAML.
  [
    raw`["']?[ \t]?:[ \t]{0,3}(?:(?:![\w!]{0,40}[ \t]{1,3})?[>|][+\d-]{0,2}[ \t]{0,9}(?:#[^\n]{0,200})?\r?\n\s{0,200}?[ \t]{1,40}|\r?\n[ \t]{0,40}-[ \t]{1,9})(?=\S)`,
    BLOCK,
  ],
  // A quoted value behind a type or another value.
  [
    raw`${CLOSE}(?:(?:[?!]?:[ \t]{0,3}${TYPE}|[ \t]{1,3}(?:string|str|text)|\[\d{0,6}\]|[ \t]\{[a-z; ]{1,40}\})[ \t]{0,3}:?=|(?:[:=]\s{0,3}[\w.$]{1,60} )?(?:\|\||\?\?)=?|->)\s{0,40}${QUOTE}${LEAD}`,
  ],
  // The only word of the next line.
  [
    raw`${CLOSE}[:=][ \t]{0,9}(?:[>|]?[+-]?${EOL}[ \t]{1,40}|<<[-~]?\w{1,20}${EOL}[ \t]{0,40})(?=["']?[^\s\\"']{4,20000}["']?[ \t]{0,9}(?:[\\"']|$))(?![\w.-]{1,60}["']?[:=])${LEAD}`,
  ],
  [
    raw`${CLOSE}(?:[:=][ \t]{0,3}\[(?=[\w.-]{6,20000}[\],])|(?:[:=]{1,2}>?[ \t]{0,9}\r?\n|\r?\n(?<=^[\w. -]{0,60}\s{1,9}))(?=[^\s\\"']\S{5,20000}$))`,
    CODE,
  ],
  [
    raw`${CLOSE}\s{0,3}(?:[:?|+]{0,2}=(?!=)>?|:-?|：|<-|<<<|%3[AD])(?:\*\*(?!\*)|__|<\/\w{1,10}>|${COLOR})?(?:(?:(?<=[=>])\s{0,40}|[ \t]{0,40})(?:\(\r?\n\s{0,40})?${QUOTE}(?!["'][^"'\n]{1,60}["']\s{0,3}:)|[ \t]{0,40})${LEAD}`,
  ],
  // Options, commands that set variables, netrc.
  [
    raw`(?=["' \t])(?<=(?<![\w-])--?[a-z][\w-]{0,60}|\b(?:setx|setenv|env|set -\w{1,3}|config(?:ure)?(?: set)?)[ \t]{1,3}[\w.:/-]{0,60}|#define[ \t]{1,3}\w{0,60}|\blogin\s{1,20}\S{1,200}\s{1,20}password)(?:["'],\s{0,40}${QUOTE}(?!["']-)|[ \t]{1,5}(?:\\\r?\n[ \t]{0,20}|<<<[ \t]{0,5})?(?!-))`,
    ANY_WORD,
  ],
  // Elements.
  [
    raw`(?=[\s\\"'<>&])(?:(?<=(?:<|&lt;)[\w.:-]{1,80})(?:\s[^<>]{0,100})?|(?<=(?:name|key)=\\*["'][\w.:-]{1,80})\\*["'][^<>]{0,100}(?<!\/)|<\/(?:key|name)>\s{0,40}<(?:string|value))(?:>|&gt;)(?:\s{0,40}<(?:value|string)>)?(?:<!\[CDATA\[)?`,
    CONTENT,
  ],
  // Prose, tables and arguments.
  [
    raw`[*_${'`'}"']{0,2}(?:[ \t]{1,3}(?:(?:is|was|to)(?: now)?:?|→)[ \t]{1,3}["'${'`'}]?|[ \t]{0,3}={2,3}[ \t]{0,3}["'${'`'}]?|[ \t]{1,3}["'${'`'}]|[ \t]{0,40}\|(?<=^[ \t]{0,9}\|[^|\n]{0,80}\|)[ \t]{0,40}["'${'`'}]?|<\/(?:t[dh]|dt)>\s{0,40}<(?:td|dd)>|(?=,)(?<=\(\s{0,9}["'][\w.-]{1,80}["']),\s{0,9}["']|[({]["'](?=[^"'\s]{6,20000}["'])|:[ \t]{1,3}|[ \t]for[ \t][\w.@-]{1,60}:[ \t]|[ \t]{1,40}(?=\S{6,20000}$)(?<=^[\w. -]{0,60}\s{1,40}))(?![\\"'])`,
    CODE,
  ],
];
const CONNECTOR = new RegExp(
  `(?:${PAIR})?(?:${CONNECTORS.map(([connector]) => `(?:${connector})()`).join('|')})`,
  'imy',
);

/** Redacts the values behind names of secrets. */
export function withoutAssigned(text: string): string {
  let result = '';
  let copied = 0;
  SECRET_NAME.lastIndex = 0;
  for (let name = SECRET_NAME.exec(text); name; name = SECRET_NAME.exec(text)) {
    const [, password, short] = name;
    const end = SECRET_NAME.lastIndex;
    if (short !== undefined && !matchAt(SHORT_NAME, text, end)) continue;
    const word = short !== undefined ? ANY_WORD : password !== undefined ? PASSWORD : KEY;
    const value = valueBehind(text, end, word);
    if (!value) continue;
    for (const [from, to] of value.secrets) {
      result += `${text.slice(copied, from)}[redacted:secret]`;
      copied = to;
    }
    SECRET_NAME.lastIndex = value.end;
  }
  return result + text.slice(copied);
}

/** Reads the value behind a name. An unquoted value matches the pattern of its connector or, by default, of its name. */
function valueBehind(text: string, nameEnd: number, ofName: RegExp): Value | undefined {
  const connector = matchAt(CONNECTOR, text, nameEnd);
  if (!connector) return undefined;
  const start = CONNECTOR.lastIndex;
  const [, pattern = ofName] = CONNECTORS[connector.indexOf('', 1) - 1] ?? [];
  const value = matchAt(pattern, text, start);
  if (value?.[0] === '') return leavesOf(text, start);
  return value && { secrets: [[start, pattern.lastIndex]], end: pattern.lastIndex };
}

function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | undefined {
  pattern.lastIndex = index;
  return pattern.exec(text) ?? undefined;
}

/**
 * Matches a number, or a character that begins or ends a part of a JSON value. The backslashes before a quote show how often the value was
 * quoted.
 */
const TOKEN = /(?<!\\)(\\{0,127})(["'[\]{}\n])|-?\d[\d.eE+-]*/g;

/** Finds the texts and numbers of a text, list or object in JSON, Python or JavaScript, which may be truncated or quoted. */
function leavesOf(text: string, start: number): Value {
  const secrets: [from: number, to: number][] = [];
  let depth = 0;
  let open: { readonly from: number; readonly mark: string; readonly isLong: boolean } | undefined;
  TOKEN.lastIndex = start;
  for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
    const [mark, { length: slashes } = '', sign] = found;
    const end = TOKEN.lastIndex;
    if (open) {
      if (sign === '\n' ? open.isLong : sign !== open.mark.at(-1)) continue;
      // In a text that was quoted once, `\"` ends a string. `\\\"` is a quote in the string, and so are two quotes in a row.
      if (sign !== '\n' && (slashes - open.mark.length + 1) % (2 * open.mark.length) !== 0) continue;
      if (sign !== '\n' && text.startsWith(open.mark, end)) {
        TOKEN.lastIndex += open.mark.length;
        continue;
      }
      const to = end - (sign === '\n' ? 1 : open.mark.length);
      if (to > open.from && !/^\s{0,9}:/.test(text.slice(end, end + 10))) secrets.push([open.from, to]);
      open = undefined;
    } else if (sign === undefined) secrets.push([found.index, end]);
    else if (sign === '"' || sign === "'")
      open = { from: end, mark, isLong: text.startsWith(sign + sign, end) };
    else if (sign === '[' || sign === '{') depth++;
    else if (sign !== '\n') depth--;
    if (depth <= 0 && !open) return { secrets, end };
  }
  if (open) secrets.push([open.from, text.length]);
  return { secrets, end: text.length };
}
