import type { CommandArgument, Command as CommandNode, Redirection, SyntaxNode } from 'unbash';
import { forEachChild, parse } from 'unbash';
import { type Effect, effectOf, OPAQUE, PRINTS } from './programs.js';

/** Limits for substitutions (with `sh -c`), words, special characters, and here-documents. More would delay every call. */
const MAX_SCRIPTS = 64;
const MAX_WORDS = 4_000;
const MAX_SIGNS = 10_000;
const MAX_DOCUMENTS = 64;

/** Matches words that mean the same in every shell, in which `$?` may stand for a number. */
const LITERAL =
  /^(?:[\w./:@%+,=^#\]-]|!(?=$|=)|\[(?=$|\[$)|(?<=[\w.)^@])~|\{\w*\}|\\[^\n]|'[^']*'|\$[?!#$]|"(?:[^"$`\\]|\\[^\n]|\$(?:[?!#$]|(?=["\\ ])))*")+$/;
const NUMBER = /\$[?!#$]/;
/** Matches the message of a commit in a here-document. */
const DOCUMENT = /^"\$\(cat <<'(\w+)'\n((?:(?!\1\n).*\n)*(?!\1\n).+)\n\1\n\s*\)"$/;
/** Matches files of a repository of any name, and others that determine which programs Git starts. */
const OF_GIT = /(?:^|\/)(?:\.git(?:config|attributes|modules)?|HEAD|config|hooks|objects)(?:\/|$)/i;
/** Matches builtins of every shell, which neither `PATH` nor a file changes. */
const BUILTIN = /^(?:cd|echo|exit|export|false|kill|pwd|test|true|:|\[)$/;
/** Matches variables that no program takes for options or names of programs. */
const HARMLESS_VARIABLE = /^(?:NODE_ENV|(?!\w*path)[a-z]+)=$/;
export const DEVICE = /^\/dev\/(?:null|zero|u?random|tty|std(?:in|out|err))$/;
/** Matches nodes that run each of their commands at most once. */
const ONCE = /^(?:Statement|AndOr|CompoundList|Subshell|BraceGroup|If|Elif)$/;
const NOTHING = { text: ':', isKnown: true };
const COMPARISON = /^\[\[ (?:-[a-uw-z] [\w./-]+|\d+ -[a-z]{2} \d+) \]\]$/;

export function baseName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1);
}

/** A parsed command line. */
export class CommandLine {
  /** Commands, including those of substitutions and of `sh -c`. Their words have no quotes; expansions are as written. */
  readonly commands: { readonly words: readonly string[]; readonly effect: Effect }[] = [];
  /** Files that the shell itself opens, and values of variables. */
  readonly targets: string[] = [];
  /** True if the line has only simple commands with literal words, which no program runs. */
  isClear = true;
  /** True if its programs open only files that their words name. */
  isKnown = true;
  /** True if a command changes files that no word names. */
  readonly changesAny: boolean;
  /** True if the line may run other commands than those listed. */
  isOpaque = false;
  #scripts = 0;
  #count = 0;
  #writes = 0;
  /** Base names of files that the line writes. */
  readonly #written = new Set<string>();
  /** True after the line has changed `PATH`, so that names may refer to other programs. */
  #isRenamed = false;

  constructor(line: string) {
    this.#read(line);
    const { commands, targets } = this;
    const has = (test: (effect: Effect) => unknown) => commands.some(({ effect }) => test(effect));
    this.changesAny = has(({ does }) => does === 'changes');
    const changer = commands.find(({ effect }) => /^(?:writes|changes)$/.test(effect.does ?? ''));
    // What a command changes or adds, another may show or run.
    const isApart = !changer || commands.every((each) => each === changer || this.#isApart(each));
    const words = [...targets, ...commands.flatMap((each) => each.words)];
    const isOfGit = has(({ does = 'runs' }) => does !== 'runs') && words.some((word) => OF_GIT.test(word));
    if (!isApart || isOfGit) this.isKnown = false;
    if (has(({ git }) => git === 'adds') && has(({ git }) => git === 'shows')) this.isKnown = false;
    if (has(({ doubt }) => doubt)) this.isKnown = false;
    if (this.isOpaque || has(({ doubt }) => doubt === 'anything')) this.isClear = false;
  }

  /** Tests if a command neither opens nor runs what another command of the line may have changed. */
  #isApart({ words: [name = ''], effect }: CommandLine['commands'][number]): boolean {
    return effect.isText === true && (BUILTIN.test(name) || !(this.changesAny || this.#written.has(name)));
  }

  #read(line: string): void {
    const signs = line.match(/[;&|<>(){}[$`'"\n]/g)?.length ?? 0;
    const isLong = signs > MAX_SIGNS || line.split('<<', MAX_DOCUMENTS + 1).length > MAX_DOCUMENTS;
    if (/[^\P{Cc}\t\n]/u.test(line)) this.isClear = false;
    if (isLong) this.isOpaque = true;
    else this.#visit(parse(line), false, line);
  }

  #visit(node: SyntaxNode, isFed: boolean, line = ''): void {
    const visitAll = () => forEachChild(node, (child) => this.#visit(child, isFed, line));
    const text = line.slice(node.pos, node.end);
    if (node.type === 'Script') {
      if (node.errors?.length || this.#scripts++ > MAX_SCRIPTS) this.isOpaque = true;
      else visitAll();
    } else if (node.type === 'Pipeline')
      node.commands.forEach((command, at) => {
        const last = node.commands[at - 1]?.type === 'Command' ? this.commands.at(-1) : undefined;
        // Paths that `find` prints begin with its own arguments or `./`, so they are no options.
        const isList =
          last?.words[0] === 'find' && command.type === 'Command' && command.name?.text === 'xargs';
        this.#visit(command, at === 0 ? isFed : !isList, line);
      });
    else if (node.type === 'Command') this.#command(node, isFed);
    else if (node.type === 'Word') this.#word(node);
    else if (ONCE.test(node.type)) visitAll();
    else if (node.type === 'TestCommand' && COMPARISON.test(text)) this.targets.push(...text.split(' '));
    else {
      if (node.type === 'Function' || node.type === 'Coproc') this.isOpaque = true;
      this.isClear = false;
      if (node.type === 'Redirected') this.#visit(node.command, this.#redirect(node.redirects) || isFed);
      else visitAll();
    }
  }

  #command(node: CommandNode, isPiped: boolean): void {
    this.#count += node.prefix.length + node.suffix.length + 1;
    if (this.#count > MAX_WORDS) {
      this.isOpaque = true;
      return;
    }
    const writes = this.#writes;
    const isFed = this.#redirect(node.redirects) || isPiped;
    const isWritten = this.#writes > writes;
    for (const each of node.prefix) if (each.type === 'Assignment') this.targets.push(this.#word(each).text);
    const isRenamed = this.#isRenamed;
    // A command without a name does nothing.
    const given = node.name ? [node.name, ...node.args].map((word) => this.#word(word)) : [NOTHING];
    const words = given.map(({ text }) => text);
    const [name = '', option, line = ''] = words;
    const isShell = /^(?:ba|da)?sh$/.test(name) && option === '-c' && given.length === 3 && given[2]?.isKnown;
    const judged = isShell ? {} : effectOf(given.map(({ text, isKnown }) => (isKnown ? text : '$')));
    const takesNumbers = BUILTIN.test(name) && name !== 'cd';
    if (!takesNumbers && words.some((word) => NUMBER.test(word))) this.isClear = false;
    // Any other program may run its input, its first argument, or what the line has written.
    const first = words.findIndex((word, at) => at > 0 && !/^(?:[-+]|\d+$|[A-Za-z_]\w*=)/.test(word));
    const isWord = (word: string) => !word.startsWith('-') && this.#written.has(baseName(word));
    const isRun = isFed || given[first]?.isKnown === false || words.some(isWord);
    const isOther = given[0]?.isKnown === false || (isRenamed && !BUILTIN.test(name) && name !== 'declare');
    const isOpaque = isOther || (!judged.isKnown && isRun) || (name === 'xargs' && isFed);
    const effect: Effect = isOpaque ? OPAQUE : judged;
    this.commands.push({ words, effect: isWritten ? { ...effect, isText: false, does: 'writes' } : effect });
    if (isWritten && judged.does) this.isKnown = false;
    if (judged.does === 'writes') for (const word of words) this.#written.add(baseName(word));
    for (const word of name === 'declare' || name === 'export' ? words : []) this.#assign(word);
    if (isShell) this.#read(line);
  }

  #assign(word: string): void {
    const name = word.slice(0, word.indexOf('=') + 1);
    if (name === 'PATH=') this.#isRenamed = true;
    else if (name !== '' && !HARMLESS_VARIABLE.test(name)) this.isKnown = false;
  }

  #word(node: CommandArgument) {
    const value = node.type === 'Word' ? node : node.value;
    const before = node.type === 'Word' ? '' : `${node.name}=`;
    this.#assign(before);
    const document = DOCUMENT.exec(node.text)?.[2];
    const isKnown = document !== undefined || LITERAL.test(node.text);
    if (!isKnown) {
      this.isClear = false;
      forEachChild(node, (child) => this.#visit(child, false));
    }
    const text = before + (document ?? (value.type === 'Word' ? value.value : node.text));
    return { text, isKnown };
  }

  /** Records the files that redirections open. Returns true if the command's input may be code. */
  #redirect(all: readonly Redirection[]): boolean {
    let isFed = false;
    for (const each of all) {
      const { descriptor, operator } = each;
      // Some shells read a descriptor with two digits or in braces as a word.
      if (descriptor && !(descriptor.type === 'FileDescriptor' && descriptor.value < 10))
        this.isOpaque = true;
      if (each.type === 'HereDoc') {
        const { body, delimiter, closing } = each;
        if (closing === undefined || !(delimiter?.quoted || /^[^\\$`]*$/.test(body.text)))
          this.isClear = false;
        if (!delimiter?.quoted) forEachChild(body, (child) => this.#visit(child, false));
        isFed ||= !PRINTS.test(body.text);
        continue;
      }
      const target = each.target && this.#word(each.target);
      if (!target?.isKnown || NUMBER.test(target.text)) this.isClear = false;
      if (target === undefined || (/&$/.test(operator) && /^(?:\d+|-)$/.test(target.text))) continue;
      this.targets.push(target.text);
      if (operator.includes('>') && !DEVICE.test(target.text)) {
        this.#written.add(baseName(target.text));
        this.#writes++;
      }
      isFed ||= operator.startsWith('<') && target.text !== '/dev/null';
    }
    return isFed;
  }
}
