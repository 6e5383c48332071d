/** The number, the environment or the age of a secret, after its name. Other words, as in `token_count`, name something else. */
const OWNER =
  '(?:[_-]?[0-9]{1,2}(?![0-9]))?(?:[_-](?:prod(?:uction)?|dev(?:elopment)?|stag(?:e|ing)|test(?:ing)?|qa|uat|live|local|old|new|backup))?';
/** Names of settings whose value is a password, which may look like any word. `tests_pass` counts tests. */
const PASSWORDS = `(?:pass(?:word|wd|phrase|code)|pwd|(?<![a-z])(?:dbpass|(?:db|database|mysql|pg|postgres|redis|smtp|mail|ftp|ssh|ldap|proxy|user|admin|root)[_-]pass))${OWNER}`;
/** Names of settings whose value is another secret. In assignments without quotes, the value must contain a digit. */
const KEYS =
  '(?:secret(?:[_ -]?(?:access[_ -]?)?key(?:[_-]base)?)?|(?:api|access|private|account|encryption|master|signing|auth|subscription)[_ -]?keys?|' +
  // A pagination token is not a secret, and pagination fails if it is redacted.
  `token(?<!(?:page|next|sync|continue|continuation|cursor|start|starting|resume|delta|skip|iterator)[_-]?token)|credentials?|passwords)${OWNER}`;
/** Names that count only in upper case with underscores. */
const VARIABLES = `(?<![A-Za-z0-9_])[A-Z][A-Z0-9_]{0,60}_(?:PASS|AUTH)${OWNER.toUpperCase()}`;
/** Headers that contain credentials. In a text, patterns find their values. */
const HEADERS = '^(?:set-cookie|cookie|(?:proxy-)?authorization)';
const [NAMED, VARIABLE] = [
  new RegExp(`(?:${PASSWORDS}|${KEYS}|${HEADERS})$`, 'i'),
  new RegExp(`^${VARIABLES}$`),
];

/** Three characters of every {@link SECRET_NAME}. */
export const NAME_HINTS = 'swo swd sph sco pwd bpa _pa -pa _au -au ecr key tok ede';
/** Matches the last words of a name. A match with the group `short` names a secret only if {@link SHORT_NAME} matches behind it. */
export const SECRET_NAME = new RegExp(
  `(?:(?<password>${PASSWORDS})|(?<short>[_-](?:pass|auth)${OWNER})|${KEYS})(?![A-Za-z0-9])(?<!\\[redacted:[\\w.-]{0,60})`,
  'gi',
);
/** Matches behind a variable, such as `X_PASS` or `X_AUTH=`, and behind an option, such as `--pass`. */
export const SHORT_NAME = new RegExp(
  `(?<=${VARIABLES})(?:(?==)|(?<=_PASS${OWNER.toUpperCase()}))|(?<=(?<![\\w-])--?(?:[a-z]{1,20}-){0,3}(?:pass|auth(?=[ \\t"'])))`,
  'y',
);

/** Tests if a field with this name contains a secret. */
export function namesSecret(name: string): boolean {
  return NAMED.test(name) || VARIABLE.test(name);
}
