/** Programs that print the files that they are given. */
const READERS = new Set(['bat', 'cat', 'head', 'less', 'nl', 'tail']);
/** Words of a command line, one in quotes with its quotes, and what stands between commands. */
const WORD = /'[^']*'|"[^"]*"|&&|\|\||[;|\n]|\d?>>?|[^\s'"&;|>]+/g;
const SEPARATOR = /^(?:&&|\|\||[;|\n])$/;
const REDIRECTION = /^1?>>?$/;
/** A word that names a file: it has a folder or an ending, and is no pattern and no variable. */
const FILE = /^(?!-|\/dev\/)[^\s*?$(){}<>=]*(?:\/[\p{L}\p{N}_.@+-]+|[\p{L}\p{N}_-]\.[\p{L}\p{N}_-]+)$/u;

/** The effects of a command line on files, as far as its words show. */
export interface ShellFiles {
  readonly read: readonly string[];
  readonly written: readonly string[];
  /** It does nothing but read, so that the files say all that there is to say about it. */
  readonly onlyReads: boolean;
}

/**
 * The files that a command line prints with `cat`, `sed -n`, `head` and their kin, and those that it redirects output
 * to: how agents read and write that have a shell and no tools for files.
 */
export function shellFiles(command: string): ShellFiles {
  const read = new Set<string>();
  const written = new Set<string>();
  let onlyReads = true;
  let words: string[] = [];
  const endCommand = () => {
    const [program = '', ...rest] = words;
    const reads = READERS.has(program) || (program === 'sed' && rest.includes('-n'));
    if (reads) for (const word of rest) if (FILE.test(word)) read.add(word);
    onlyReads &&= reads || program === '';
    words = [];
  };
  let redirected = false;
  for (const [token] of withoutHereDocument(command).matchAll(WORD)) {
    const word = withoutQuotes(token);
    if (SEPARATOR.test(token)) endCommand();
    else if (redirected && FILE.test(word)) written.add(word);
    else if (!redirected && !token.endsWith('>')) words.push(word);
    redirected = REDIRECTION.test(token);
  }
  endCommand();
  return {
    read: [...read],
    written: [...written],
    onlyReads: onlyReads && read.size > 0 && written.size === 0,
  };
}

/** Without what follows the line of a `<<`: that is data. */
function withoutHereDocument(command: string): string {
  const start = command.indexOf('<<');
  const end = start < 0 ? -1 : command.indexOf('\n', start);
  return end < 0 ? command : command.slice(0, end);
}

function withoutQuotes(word: string): string {
  return /^(['"]).*\1$/s.test(word) ? word.slice(1, -1) : word;
}
