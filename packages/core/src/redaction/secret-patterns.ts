/** A kind of secret and how it looks. */
export interface SecretPattern {
  /** Names the replacement: `[redacted:kind]`. */
  readonly kind: string;
  /**
   * Matches the secret; where it has a group named `secret`, only that group is replaced. Quantifiers are bounded and
   * neighbors do not overlap, so that a search takes time in proportion to the text.
   */
  readonly pattern: RegExp;
}

/** A pattern that is looked for only where a text hints at it. */
interface HintedPattern extends SecretPattern {
  /** Three characters each, in either case: every match of the pattern holds one of them. */
  readonly hints: readonly string[];
}

/** Names of settings whose value is a password, which may look like any word. */
const PASSWORDS = 'pass(?:word|wd|phrase)|pwd';
const PASSWORD_HINTS = ['ssw', 'ssp', 'pwd'];
/** Names of settings whose value is another secret, which has a digit in it. */
const KEYS =
  'secret(?:[_-]?(?:access[_-]?)?key)?|(?:api|access|private)[_-]?key|' +
  // The place in a listing at which to go on is no secret, and lost without its value.
  '(?<!(?:page|next|sync|continue|continuation|cursor|start|starting|resume|delta|skip|iterator)[_-]?)token|credentials?';
const KEY_HINTS = ['ecr', 'key', 'tok', 'ede'];
const NAMED = new RegExp(`(?:${PASSWORDS}|${KEYS})$`, 'i');

/** Values behind such a name that are no secret: a type, a placeholder, a reference. */
const HARMLESS =
  '(?!string\\b|number\\b|boolean\\b|unknown\\b|null\\b|undefined\\b|none\\b|true\\b|false\\b|\\[redacted:|\\*{3}|process\\.|os\\.|[$<{])';
const ASSIGNS = '\\\\?["\']?\\s{0,3}(?:=>|[:=])\\s{0,3}';
/** A word up to where a word ends: not an expression that goes on with a bracket. */
const WORD = '[^\\s"\'\\\\,;(){}[\\]]{4,500}(?=[\\s"\'\\\\,;)}\\]]|$)';

/** Common secrets, the most telling first: what one has replaced the next ones do not see. */
export const SECRET_PATTERNS: readonly HintedPattern[] = [
  {
    kind: 'private-key',
    hints: ['y--'],
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:\s{0,4}(?:Proc-Type|DEK-Info): [^\n]{0,80}){0,2}[A-Za-z0-9+/=\s\\]{0,16384}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?/g,
  },
  {
    kind: 'jwt',
    hints: ['eyj'],
    pattern: /(?<![\w-])eyJ[\w-]{8,4096}\.[\w-]{8,16384}\.[\w-]{8,2048}/g,
  },
  {
    kind: 'credentials',
    hints: ['://'],
    pattern: /:\/\/[^\s:/@"'<>]{0,100}:(?<secret>[^\s@"'<>]{1,200})@/g,
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
  { kind: 'slack-token', hints: ['xox'], pattern: /(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,1000}/g },
  {
    kind: 'slack-webhook',
    hints: ['s.s'],
    pattern: /hooks\.slack\.com\/services\/(?<secret>[\w/]{20,200})/g,
  },
  // A digit tells a key from a name such as `sk-learn-pipelines-and-more`.
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
    hints: ['aiz', 'pm_', 'hf_'],
    pattern: /(?<![A-Za-z0-9])(?:AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,100})/g,
  },
  {
    kind: 'authorization',
    hints: ['bea', 'sic'],
    pattern: /\b(?:Bearer|Basic)\s{1,3}(?<secret>[A-Za-z0-9._~+/=-]{16,4096})/g,
  },
  {
    kind: 'secret',
    hints: [...PASSWORD_HINTS, ...KEY_HINTS],
    pattern: new RegExp(
      `(?:${PASSWORDS}|${KEYS})${ASSIGNS}\\\\?["']${HARMLESS}(?<secret>[^"'\\\\\\r\\n]{1,500})`,
      'gi',
    ),
  },
  {
    kind: 'secret',
    hints: PASSWORD_HINTS,
    pattern: new RegExp(`(?:${PASSWORDS})${ASSIGNS}${HARMLESS}(?<secret>${WORD})`, 'gi'),
  },
  {
    kind: 'secret',
    hints: KEY_HINTS,
    pattern: new RegExp(
      `(?:${KEYS})${ASSIGNS}${HARMLESS}(?=[^\\s"'\\\\,;(){}[\\]\\d]{0,100}\\d)(?<secret>${WORD})`,
      'gi',
    ),
  },
];

/** Tests whether a field of this name holds a secret. */
export function namesSecret(name: string): boolean {
  return NAMED.test(name);
}
