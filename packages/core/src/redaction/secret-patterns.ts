/** A kind of secret and the pattern that matches it. */
export interface SecretPattern {
  /** Names the replacement: `[redacted:kind]`. */
  readonly kind: string;
  /**
   * Matches the secret. If it has a group named `secret`, only that group is replaced. Quantifiers are bounded and adjacent parts do
   * not overlap, so that the search time is linear in the length of the text.
   */
  readonly pattern: RegExp;
}

/** A pattern that is only searched for if the text contains one of its hints. */
interface HintedPattern extends SecretPattern {
  /** Three characters each, in either case. Every match of the pattern contains at least one of them. */
  readonly hints: readonly string[];
  /** Every match of the pattern contains a match of {@link ASSIGNMENT}. */
  readonly isAssignment?: boolean;
}

/** The environment or the age of a secret, after its name. Other words, as in `token_count`, name something else. */
const OWNER =
  '(?:[_-](?:prod(?:uction)?|dev(?:elopment)?|stag(?:e|ing)|test(?:ing)?|qa|uat|live|local|old|new|backup))?';
/** Names of settings whose value is a password, which may look like any word. `tests_pass` counts tests. */
const PASSWORDS = `(?:pass(?:word|wd|phrase)|pwd|(?<![a-z])(?:db|database|mysql|pg|postgres|redis|smtp|mail|ftp|ssh|ldap|proxy|user|admin|root)[_-]pass)${OWNER}`;
const PASSWORD_HINTS = ['ssw', 'ssp', 'pwd', '_pa', '-pa'];
/** Names of settings whose value is another secret. In assignments without quotes, the value must contain a digit. */
const KEYS =
  '(?:secret(?:[_-]?(?:access[_-]?)?key(?:[_-]base)?)?|(?:api|access|private|account|encryption|master|signing)[_-]?key|' +
  // A pagination token is not a secret, and pagination fails if it is redacted.
  `(?<!(?:page|next|sync|continue|continuation|cursor|start|starting|resume|delta|skip|iterator)[_-]?)token|credentials?)${OWNER}`;
const KEY_HINTS = ['ecr', 'key', 'tok', 'ede'];
/** Names that count only in upper case with underscores. */
const VARIABLES = `(?<![A-Za-z0-9_])[A-Z][A-Z0-9_]{0,60}_(?:PASS|AUTH)${OWNER.toUpperCase()}`;
const [NAMED, VARIABLE] = [new RegExp(`(?:${PASSWORDS}|${KEYS})$`, 'i'), new RegExp(`^${VARIABLES}$`)];

/** Values after such a name that are not secrets: types, placeholders, references. */
const HARMLESS =
  '(?!string\\b|number\\b|boolean\\b|unknown\\b|null\\b|undefined\\b|none\\b|true\\b|false\\b|\\[redacted:|\\*{3}|process\\.|os\\.|[$<{])';
const ASSIGNS = '\\\\?["\']?\\s{0,3}(?:=>|:?=|:)\\s{0,3}';
/** Matches the name of a secret in front of its value. */
export const ASSIGNMENT = new RegExp(`(?:${PASSWORDS}|${KEYS})\\\\?["']?\\s{0,3}[:=]`, 'i');
/** Matches a whole word, but not an expression that continues with a bracket. A comma in a word belongs to it. */
const WORD = '(?:[^\\s"\'\\\\,;(){}[\\]]|,(?=[^\\s"\'\\\\,;(){}[\\]])){4,500}(?=[\\s"\'\\\\,;)}\\]]|$)';

/** Patterns of common secrets, most specific first, because later patterns do not match replaced text. */
export const SECRET_PATTERNS: readonly HintedPattern[] = [
  {
    kind: 'private-key',
    hints: ['y--', 'k--'],
    // Without an end, lines of any length that repeat what precedes the beginning, such as `> `, or that are numbered.
    pattern:
      /-----BEGIN(?:(?<=^(?<prefix>[^\n]{0,100})-----BEGIN)|) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----)[\s\S]){0,16384}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:\s{0,4}(?:Proc-Type|DEK-Info|Version|Comment|Hash): [^\n]{0,80}){0,4}(?:\r?\n(?:\k<prefix>|[^A-Za-z\n]{0,40})[A-Za-z0-9+/=]{1,200}[ \t\r]{0,4}(?=\n|$)){0,400}[A-Za-z0-9+/=\s\\]{0,16384}(?:[^\n]{0,100}?[A-Za-z0-9+/=]{24,200}\s{0,4}){0,400})/gm,
  },
  {
    kind: 'jwt',
    hints: ['eyj'],
    pattern: /(?<![\w-])eyJ[\w-]{8,4096}\.[\w-]{8,16384}\.[\w-]{8,2048}/g,
  },
  {
    kind: 'credentials',
    hints: ['://'],
    // Up to the last @ before the path. A password with a / ends at the first @.
    pattern: /:\/\/[^\s:/@"'<>]{0,100}:(?<secret>[^\s/"'<>]{1,200}|[^\s@"'<>]{1,200})@/g,
  },
  {
    // A token in place of a user. It has a digit, unlike most names.
    kind: 'credentials',
    hints: ['://'],
    pattern: /:\/\/(?<secret>(?=[A-Za-z_-]{0,200}\d)[\w-]{16,200})@/g,
  },
  {
    kind: 'aws-key',
    hints: ['kia', 'sia'],
    pattern: /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  },
  {
    kind: 'github-token',
    hints: ['hp_', 'ho_', 'hu_', 'hs_', 'hr_', 'b_p'],
    pattern: /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,1000}|github_pat_\w{20,1000})/g,
  },
  { kind: 'gitlab-token', hints: ['glp'], pattern: /(?<![A-Za-z0-9])glpat-[\w-]{16,1000}/g },
  {
    kind: 'slack-token',
    hints: ['xox', 'pp-'],
    pattern: /(?<![A-Za-z0-9])(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,1000}/g,
  },
  {
    kind: 'slack-webhook',
    hints: ['s.s'],
    pattern: /hooks\.slack\.com\/services\/(?<secret>[\w/]{20,200})/g,
  },
  // A digit distinguishes a key from a name such as `sk-learn-pipelines-and-more`.
  {
    kind: 'api-key',
    hints: ['sk-'],
    pattern: /(?<![A-Za-z0-9_-])sk-(?=[A-Za-z_-]{0,1000}\d)[\w-]{16,1000}/g,
  },
  {
    kind: 'api-key',
    hints: ['k_l', 'k_t'],
    pattern: /(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{10,1000}/g,
  },
  {
    kind: 'api-key',
    hints: ['aiz', 'pm_', 'hf_', 'whs', '29.', 'sg.', 'gsk', 'xai', 'pi-', 'v1_', 'shp', 'y-1'],
    pattern:
      /(?<![A-Za-z0-9])(?:AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,100}|whsec_[A-Za-z0-9+/=]{16,100}|ya29\.[\w-]{16,1000}|SG\.[\w-]{16,64}\.[\w-]{16,64}|gsk_[A-Za-z0-9]{20,100}|xai-[A-Za-z0-9]{20,200}|pypi-[\w-]{16,1000}|dop_v1_[a-f0-9]{32,64}|shpat_[a-f0-9]{32}|AGE-SECRET-KEY-1[A-Z0-9]{20,100})/g,
  },
  {
    kind: 'authorization',
    hints: ['bea', 'sic'],
    // In lower case, the scheme may be a word of prose, so the secret needs a digit.
    pattern: /\b(?:Bearer|Basic|(?:bearer|basic)(?=\s\S{0,500}\d))\s{1,3}(?<secret>[\w.~+/=-]{16,4096})/g,
  },
  {
    // In a header, the scheme may have any name and case.
    kind: 'authorization',
    hints: ['uth'],
    pattern:
      /\bauthorization["']?:\s{0,3}["']?(?:[a-z]{1,20}\s{1,3})?(?=[A-Za-z._~+/=-]{0,1000}\d)(?<secret>[A-Za-z0-9._~+/=-]{16,4096})/gi,
  },
  {
    kind: 'cookie',
    hints: ['kie'],
    pattern: /\bCookie:\s{0,3}(?<secret>[^\s"'=;]{1,64}=[^\r\n"']{4,4096})/gi,
  },
  {
    kind: 'secret',
    hints: ['uth'],
    pattern: /"auth"\s{0,3}:\s{0,3}"(?<secret>[A-Za-z0-9+/=]{12,1000})"/g,
  },
  {
    kind: 'secret',
    hints: ['_pa', '_au'],
    pattern: new RegExp(`${VARIABLES}=["']?(?<secret>[^\\s"'[$]{3,500})`, 'g'),
  },
  {
    // Long options of any program.
    kind: 'secret',
    hints: [...PASSWORD_HINTS, ...KEY_HINTS, '-au'],
    pattern: new RegExp(
      `(?<![\\w-])--?(?:[a-z]{1,20}-){0,3}(?:${PASSWORDS}|pass|${KEYS}|auth)[ \\t]{1,3}(?!-)["']?(?<secret>[^\\s"'[]{3,500})`,
      'gi',
    ),
  },
  {
    // Programs with short options for credentials.
    kind: 'secret',
    hints: ['url', 'ysq', 'iad', 's-c', 'hpa'],
    pattern:
      /\b(?:curl\b[^\n|;&]{0,300}?\s(?:-u|--(?:proxy-)?user)[ =]{0,2}["']?[^\s:"']{1,100}:|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]{0,300}?\s-p|redis-cli\b[^\n|;&]{0,300}?\s-a[ \t]{1,3}|sshpass\b[^\n|;&]{0,40}?\s-p[ \t]{0,3})["']?(?<secret>[^\s"'[;|&][^\s"'[]{0,200})/g,
  },
  {
    // Query parameters of URLs.
    kind: 'secret',
    hints: ['key', 'sig', 'tok', 'ssw', 'ecr', 'ure'],
    pattern:
      /[?&;](?:key|sig|signature|x-amz-signature|(?:access_|auth_)?token|api_?key|password|(?:client_)?secret)=(?!\[redacted:)(?<secret>[^&\s"'<>#]{6,1000})/gi,
  },
  {
    kind: 'secret',
    hints: ['chi', 'log'],
    pattern: /\blogin\s{1,20}[^\s]{1,200}\s{1,20}password\s{1,20}(?<secret>[^\s[]{1,200})/g,
  },
  {
    kind: 'secret',
    hints: [...PASSWORD_HINTS, ...KEY_HINTS],
    pattern: new RegExp(
      `<(?:[\\w.-]{0,40}:)?(?:${PASSWORDS}|${KEYS})>(?!\\[redacted:)(?<secret>[^<]{1,500})<`,
      'gi',
    ),
  },
  {
    // Blocks and lists of YAML.
    kind: 'secret',
    hints: [...PASSWORD_HINTS, ...KEY_HINTS],
    isAssignment: true,
    pattern: new RegExp(
      `(?:${PASSWORDS}|${KEYS})["']?:[ \\t]{0,3}(?:[>|][+-]?[ \\t]{0,3}\\r?\\n[ \\t]{1,40}|\\r?\\n[ \\t]{0,40}-[ \\t]{1,3})["']?(?!\\[redacted:)(?<secret>[^\\s"'#][^\\r\\n"']{0,500})`,
      'gi',
    ),
  },
  // Up to the same quote. Backslashes escape it, and so does another one. In a text that was quoted once, all have a backslash more.
  ...['', '\\\\'].map((slash) => ({
    kind: 'secret',
    hints: [...PASSWORD_HINTS, ...KEY_HINTS],
    isAssignment: true,
    pattern: new RegExp(
      `(?:${PASSWORDS}|${KEYS})${ASSIGNS}${slash}(?<quote>["'])${HARMLESS}(?<secret>(?:${slash}\\\\${slash}[^\\r\\n]|\\\\${slash}|(?:${slash}\\k<quote>){2}|(?!\\k<quote>)[^\\\\\\r\\n]){1,500})`,
      'gi',
    ),
  })),
  {
    kind: 'secret',
    hints: PASSWORD_HINTS,
    isAssignment: true,
    pattern: new RegExp(`(?:${PASSWORDS})${ASSIGNS}${HARMLESS}(?<secret>${WORD})`, 'gi'),
  },
  {
    kind: 'secret',
    hints: KEY_HINTS,
    isAssignment: true,
    pattern: new RegExp(
      `(?:${KEYS})${ASSIGNS}${HARMLESS}(?=[^\\s"'\\\\,;(){}[\\]\\d]{0,100}\\d)(?<secret>${WORD})`,
      'gi',
    ),
  },
];

/** Tests if a field with this name contains a secret. */
export function namesSecret(name: string): boolean {
  return NAMED.test(name) || VARIABLE.test(name);
}
