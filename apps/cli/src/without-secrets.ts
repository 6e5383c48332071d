/** What servers' addresses hold before their host, also where they were encoded as the name of a session. */
const CREDENTIALS = /\b((?:rediss?|mysqls?|mariadb)(?::|%3A)(?:\/|%2F){2})[^\n]*(?:@|%40)/gi;
const PASSWORD_PARAMETER = /([?&]password=)[^&\s]*/gi;

/** A text for people to read, without the user names and passwords of the addresses in it. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(CREDENTIALS, '$1***@').replaceAll(PASSWORD_PARAMETER, '$1***');
}
