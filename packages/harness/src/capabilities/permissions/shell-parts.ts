/** One command of a command line, as it stands between operators. */
export interface ShellPart {
  /** As it was written, with single spaces between words. */
  readonly text: string;
  /** The word without its quotes, before the shell expands variables and file names. */
  readonly words: readonly string[];
}

export interface ShellLine {
  readonly parts: readonly ShellPart[];
  /**
   * Nothing but commands, one after the other or piped: no substitution, redirection (but to `/dev/null` or between
   * stdout and stderr), group, comment, or anything that is not understood.
   */
  readonly simple: boolean;
  /** Quoted text in which something is substituted. */
  readonly quoted: readonly string[];
}

/** Redirections that write no file. */
const HARMLESS = /^(?:>>?[ \t]*\/dev\/null|>&[12])(?=[ \t\n;&|]|$)/;

/** More than a plain variable, outside of quotes and inside. */
const EXPANSION = /^\$(?:[('"]|\{(?!\w+\}))/;
const QUOTED_EXPANSION = /^\$(?:\(|\{(?!\w+\}))/;

/** Takes a command line for a POSIX shell apart. What it does not understand surely makes the line not `simple`. */
export function shellParts(line: string): ShellLine {
  return new Reader(line).read();
}

class Reader {
  readonly #line: string;
  readonly #parts: ShellPart[] = [];
  readonly #quoted: string[] = [];
  #at = 0;
  #simple = true;
  #raw: string[] = [];
  #words: string[] = [];
  /** The word being read, with its quotes and without; undefined between words. */
  #word: { raw: string; plain: string } | undefined;

  constructor(line: string) {
    this.#line = line;
  }

  read(): ShellLine {
    while (this.#at < this.#line.length) this.#step();
    this.#endPart();
    return { parts: this.#parts, simple: this.#simple, quoted: this.#quoted };
  }

  #step(): void {
    const character = this.#line[this.#at] ?? '';
    if (character === '\\') this.#escape();
    else if (character === "'") this.#singleQuotes();
    else if (character === '"') this.#doubleQuotes();
    else if (character === '>' || character === '<') this.#redirect();
    else this.#plain(character);
  }

  #plain(character: string): void {
    const expands = character === '$' && EXPANSION.test(this.#line.slice(this.#at, this.#at + 100));
    const comments = character === '#' && this.#word === undefined;
    if (expands || comments || '`()\0'.includes(character)) this.#simple = false;
    if (expands || comments || '`();&|\n'.includes(character)) this.#endPart();
    else if (character === ' ' || character === '\t') this.#endWord();
    else this.#add(character, character);
    this.#at += expands ? 2 : 1;
  }

  #add(raw: string, plain: string): void {
    this.#word ??= { raw: '', plain: '' };
    this.#word.raw += raw;
    this.#word.plain += plain;
  }

  #escape(): void {
    const next = this.#line[this.#at + 1];
    this.#at += 2;
    if (next === undefined) this.#simple = false;
    // A line that goes on: the shell sees neither.
    else if (next !== '\n') this.#add(`\\${next}`, next);
  }

  #singleQuotes(): void {
    const end = this.#line.indexOf("'", this.#at + 1);
    const text = this.#line.slice(this.#at + 1, end === -1 ? undefined : end);
    if (end === -1) this.#simple = false;
    this.#add(`'${text}'`, text);
    this.#at += text.length + 2;
  }

  #doubleQuotes(): void {
    const begin = ++this.#at;
    let plain = '';
    let substitutes = false;
    while (this.#at < this.#line.length && this.#line[this.#at] !== '"') {
      const character = this.#line[this.#at] ?? '';
      const next = this.#line[this.#at + 1] ?? '';
      if (character === '\\' && '$`"\\\n'.includes(next) && next !== '') {
        plain += next === '\n' ? '' : next;
        this.#at += 2;
        continue;
      }
      substitutes ||=
        character === '`' ||
        (character === '$' && QUOTED_EXPANSION.test(this.#line.slice(this.#at, this.#at + 100)));
      plain += character;
      this.#at++;
    }
    const text = this.#line.slice(begin, this.#at);
    if (substitutes) this.#quoted.push(text);
    if (substitutes || this.#at >= this.#line.length) this.#simple = false;
    this.#add(`"${text}"`, plain);
    this.#at++;
  }

  #redirect(): void {
    const found = HARMLESS.exec(this.#line.slice(this.#at, this.#at + 60));
    if (found === null) {
      this.#simple = false;
      this.#endWord();
      this.#at++;
      return;
    }
    // The number of the stream that is redirected stands right before.
    if (this.#word && /^[12]$/.test(this.#word.raw)) this.#word = undefined;
    this.#endWord();
    this.#at += found[0].length;
  }

  #endWord(): void {
    if (this.#word === undefined) return;
    const { raw, plain } = this.#word;
    if (raw === '{' || raw === '}' || raw === '!') this.#simple = false;
    this.#raw.push(raw);
    this.#words.push(plain);
    this.#word = undefined;
  }

  #endPart(): void {
    this.#endWord();
    if (this.#raw.length > 0) this.#parts.push({ text: this.#raw.join(' '), words: this.#words });
    this.#raw = [];
    this.#words = [];
  }
}
