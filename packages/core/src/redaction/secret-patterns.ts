import { NAME_HINTS, SECRET_NAME } from './secret-names.js';

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
  /**
   * Three characters each, in either case. Every match of the pattern contains at least one of them. Three letters from p to y also
   * hint at digits, which is slow.
   */
  readonly hints: readonly string[];
}

const secret = (kind: string, hints: string, pattern: RegExp): HintedPattern => ({
  kind,
  hints: hints.split(' '),
  pattern,
});

/** Patterns of common secrets, most specific first, because later patterns do not match replaced text. */
export const SECRET_PATTERNS: readonly HintedPattern[] = [
  secret(
    'private-key',
    'y-- k--',
    // If the end line is missing, matches lines of any length with the prefix of the first line, such as `> `, or with a line number.
    /-----BEGIN(?:(?<=^(?<prefix>[^\n]{0,100})-----BEGIN)|) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----)[\s\S]){0,16384}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:\s{0,4}(?:Proc-Type|DEK-Info|Version|Comment|Hash): [^\n]{0,80}){0,4}(?:\r?\n(?:\k<prefix>|[^A-Za-z\n]{0,40})[A-Za-z0-9+/=]{1,200}[ \t\r]{0,4}(?=\n|$)){0,400}[A-Za-z0-9+/=\s\\]{0,16384}(?:[^\n]{0,100}?[A-Za-z0-9+/=]{24,200}\s{0,4}){0,400})/gm,
  ),
  secret('jwt', 'eyj', /(?<![\w-])eyJ[\w-]{8,4096}\.[\w-]{8,16384}\.[\w-]{8,2048}/g),
  // Up to the last @ before the path. A password with a / ends at the first @.
  secret('credentials', '://', /:\/\/[^\s:/@"'<>[]{0,100}:(?<secret>[^\s/"'<>]{1,9999}|[^\s@"'<>]{1,99})@/g),
  // A token in place of a user. It has a digit, unlike most names.
  secret('credentials', '://', /:\/\/(?<secret>(?=[A-Za-z_-]{0,200}\d)[\w-]{16,200})@/g),
  secret('aws-key', 'kia sia', /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g),
  secret('github-token', 'hp_ ho_ hu_ hs_ hr_', /(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,1000}/g),
  secret('github-token', 'b_p', /(?<![A-Za-z0-9])github_pat_\w{20,1000}/g),
  secret('gitlab-token', 'glp', /(?<![A-Za-z0-9])glpat-[\w-]{16,1000}/g),
  secret('slack-token', 'xox xap', /(?<![A-Za-z0-9])(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,1000}/g),
  secret('slack-webhook', 's.s', /hooks\.slack\.com\/services\/(?<secret>[\w/]{20,200})/g),
  secret(
    'api-key',
    'sk- k_l k_t aiz pm_ hf_ whs ya2 sg. gsk xai pyp v1_ shp y-1 hvs csp n_a tn_ gd_ dp. sbp dap lx- atp idp kn_',
    // A digit distinguishes a key from a name such as `sk-learn-pipelines-and-more`.
    /(?<![A-Za-z0-9])(?:(?<![_-])sk-(?=[A-Za-z_-]{0,1000}\d)[\w-]{16,1000}|[rs]k_(?:live|test)_[A-Za-z0-9]{10,1000}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,100}|whsec_[A-Za-z0-9+/=]{16,100}|ya29\.[\w-]{16,1000}|SG\.[\w-]{16,64}\.[\w-]{16,64}|gsk_[A-Za-z0-9]{20,100}|xai-[A-Za-z0-9]{20,200}|pypi-[\w-]{16,1000}|dop_v1_[a-f0-9]{32,64}|shpat_[a-f0-9]{32}|AGE-SECRET-KEY-1[A-Z0-9]{20,100}|hvs\.[\w-]{20,1000}|GOCSPX-[\w-]{20,100}|lin_api_[A-Za-z0-9]{20,100}|ntn_[A-Za-z0-9]{20,100}|figd_[\w-]{20,100}|dp\.pt\.[A-Za-z0-9]{20,100}|sbp_[a-f0-9]{40}|dapi[a-f0-9]{32}|pplx-[A-Za-z0-9]{20,100}|sq0(?:atp|csp|idp)-[\w-]{20,100}|pscale_tkn_[\w-]{20,100})/g,
  ),
  secret(
    'authorization',
    'bea sic',
    // In lower case, the scheme may be a word of prose, so the secret needs a digit.
    /\b(?:Bearer|Basic|(?:bearer|basic)(?=\s\S{0,500}\d))\s{1,3}(?<secret>[\w.~+/=-]{16,16384})/g,
  ),
  secret(
    'authorization',
    'uth',
    // In a header, the scheme may have any name and case.
    /\bauthorization["']?[:=]\s{0,3}["']?(?:[a-z]{1,20}\s{1,3})?(?=[A-Za-z._~+/=-]{0,1000}\d)(?<secret>[A-Za-z0-9._~+/=-]{6,16384})/gi,
  ),
  secret('cookie', 'kie', /\bcookie["']?:\s{0,3}\[?["']?(?<secret>[^\s"'=;]{1,64}=[^\r\n"']{4,16384})/gi),
  secret('secret', 'uth', /(?:"auth"\s{0,3}:\s{0,3}"|_auth=)(?<secret>[A-Za-z0-9+/=]{12,1000})(?=["\s]|$)/g),
  secret(
    'secret',
    'url sql iad s-c hpa ngo gin',
    // Programs with short options for credentials.
    /\b(?:curl\b[^\n|;&]{0,300}?\s(?:-[a-tv-zA-Z]{0,6}u|--(?:proxy-)?user)[ =]{0,2}["']?[^\s:"']{1,100}:|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]{0,300}?\s-p|redis-cli\b[^\n|;&]{0,300}?\s-a[ \t]{1,3}|(?:sshpass|mongo\w{0,10}|docker login)\b[^\n|;&]{0,300}?\s-p[ \t]{0,3})["']?(?<secret>[^\s"'[;|&][^\s"'[]{0,16384})/g,
  ),
  secret(
    'secret',
    'swo ied',
    /\b(?:password|(?:user|to)\b[^\n;]{0,100}?\bidentified by)[ \t]{1,20}(["'])(?<secret>[^\s"'[$<{%:][^\s"'[]{2,16384})\1/gi,
  ),
  secret(
    'secret',
    'key sig tok swo ecr ure',
    // Query parameters of URLs.
    /[?&;](?:key|sig|signature|x-amz-signature|(?:access_|auth_)?token|api_?key|password|(?:client_)?secret)=(?!\[redacted:)(?<secret>[^&\s"'<>#]{6,16384})/gi,
  ),
  // The names of secrets. `withoutAssigned` finds the values behind the names.
  secret('secret', NAME_HINTS, SECRET_NAME),
];
