import type { CommandArgument, Command as CommandNode, Redirection, SyntaxNode } from 'unbash';
import { forEachChild, parse } from 'unbash';
import { type Effect, effectOf, HARMLESS_VARIABLE, OPAQUE, onlyPrints } from './programs.js';

/** Maximum nesting of substitutions and of `sh -c`. */
const MAX_DEPTH = 6;
/** Limits for special characters, here-documents and words of a line. Parsing more would delay every call. */
const MAX_SIGNS = 10_000;
const MAX_DOCUMENTS = 64;
const MAX_WORDS = 4_000;

/** Matches words that mean the same in every shell, in which `$?` may stand for a number. */
const LITERAL =
  /^(?:[\w./:@%+,=^#\]-]|!(?=$|=)|\[(?=$|\[$)|(?<=[\w.)^@])~|\{\w*\}|\\[^\n]|'[^']*'|\$[?!#$]|"(?:[^"$`\\]|\\[^\n]|\$(?:[?!#$]|(?=["\\ ])))*")+$/;
const NUMBER = /\$[?!#$]/;
/** Matches the message of a commit in a here-document. */
const DOCUMENT = /^"\$\(cat <<'(\w+)'\n((?:(?!\1\n).*\n)*)\1\n\s*\)"$/;
/** Matches files that determine which programs Git starts. */
const OF_GIT = /(?:^|\/)\.git(?:config|attributes|modules)?(?:\/|$)/i;
/** Matches builtins, which `PATH` does not change. */
const FIXED = /^(?:cd|declare|echo|export|set)$/;
const ASSIGNS = /^(?:declare|export|local|readonly|typeset)$/;
export const DEVICE = /^\/dev\/(?:null|zero|u?random|tty|std(?:in|out|err))$/;
/** Matches nodes that run each of their commands at most once. */
const ONCE = /^(?:Statement|AndOr|CompoundList|Subshell|BraceGroup|If|Elif)$/;
const COMPARISON = /^\[\[ (?:-[a-uw-z] [\w./-]+|\d+ -[a-z]{2} \d+) \]\]$/;

/** What a command reads from its input. */
type Input = 'nothing' | 'names' | 'anything';

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
  #line = '';
  #depth = 0;
  #count = 0;
  /** Base names of files that the line writes. */
  readonly #written = new Set<string>();
  /** True after the line has changed `PATH`, so that names may refer to other programs. */
  #isRenamed = false;

  constructor(line: string) {
    this.#read(line);
    const effects = this.commands.map(({ effect }) => effect);
    const uses = (git: Effect['git']) => effects.some((each) => each.git === git);
    const opensGit = [...this.targets, ...this.commands.flatMap(({ words }) => words)].some((word) =>
      OF_GIT.test(word),
    );
    const changes = effects.filter(({ does }) => does === 'changes');
    this.changesAny = changes.length > 0;
    // What a command writes, another may run. What a command changes, the words of another may name.
    const isMoved =
      (this.#written.size > 0 && effects.some(({ does }) => does === 'runs')) ||
      changes.some((each) => effects.some((other) => other !== each && !other.isText));
    if (opensGit || isMoved || effects.some(({ doubt }) => doubt) || (uses('adds') && uses('shows')))
      this.isKnown = false;
    if (effects.some(({ doubt }) => doubt === 'anything')) this.isClear = false;
  }

  #read(line: string): void {
    const signs = line.match(/[;&|<>(){}[$`'"\n]/g)?.length ?? 0;
    const isLong = signs > MAX_SIGNS || line.split('<<', MAX_DOCUMENTS + 1).length > MAX_DOCUMENTS;
    if (/[^\P{Cc}\t\n]/u.test(line)) this.isClear = false;
    const outer = this.#line;
    this.#line = line;
    if (isLong) this.#giveUp();
    else this.#visit(parse(line), 'nothing');
    this.#line = outer;
  }

  #giveUp(): void {
    this.isOpaque = true;
    this.isClear = false;
  }

  #visit(node: SyntaxNode, input: Input): void {
    const visitAll = () => forEachChild(node, (child) => this.#visit(child, input));
    if (node.type === 'Script') {
      if (node.errors?.length || this.#depth >= MAX_DEPTH) this.#giveUp();
      else {
        this.#depth++;
        visitAll();
        this.#depth--;
      }
    } else if (node.type === 'Pipeline')
      node.commands.forEach((command, at) => {
        const last = node.commands[at - 1]?.type === 'Command' ? this.commands.at(-1) : undefined;
        // Paths that `find` prints begin with its own arguments or `./`, so they are no options.
        const isList = last?.words[0] === 'find' && last.effect.isText;
        this.#visit(command, at === 0 ? input : isList ? 'names' : 'anything');
      });
    else if (node.type === 'Redirected')
      this.#visit(node.command, this.#redirect(node.redirects) ? 'anything' : input);
    else if (node.type === 'Command') this.#command(node, input);
    else if (node.type === 'Word') this.#word(node);
    else if (ONCE.test(node.type)) visitAll();
    else if (node.type === 'TestCommand' && COMPARISON.test(this.#line.slice(node.pos, node.end)))
      this.targets.push(...this.#line.slice(node.pos, node.end).split(' '));
    else {
      if (node.type === 'Function' || node.type === 'Coproc') this.isOpaque = true;
      this.isClear = false;
      visitAll();
    }
  }

  #command(node: CommandNode, before: Input): void {
    this.#count += node.prefix.length + node.suffix.length + 1;
    if (this.#count > MAX_WORDS) {
      this.#giveUp();
      return;
    }
    const input = this.#redirect(node.redirects) ? 'anything' : before;
    for (const each of node.prefix) if (each.type === 'Assignment') this.targets.push(this.#word(each).text);
    const isRenamed = this.#isRenamed;
    if (node.name === undefined) return;
    const given = [node.name, ...node.args].map((word) => this.#word(word));
    const words = given.map(({ text }) => text);
    const [name = '', option, line = ''] = words;
    const isShell = /^(?:ba|da)?sh$/.test(name) && option === '-c' && given.length === 3 && given[2]?.isKnown;
    const judged = isShell ? {} : effectOf(given.map(({ text, isKnown }) => (isKnown ? text : '$')));
    const effect: Effect = isRenamed && !FIXED.test(name) ? OPAQUE : judged;
    if (words.some((word) => NUMBER.test(word)) && !effect.isText) this.isClear = false;
    // Any other program may run its input, its first argument, or what the line has written.
    const first = words.findIndex((word, at) => at > 0 && !/^(?:[-+]|\d+$|[A-Za-z_]\w*=)/.test(word));
    const isRun =
      input !== 'nothing' ||
      given[first]?.isKnown === false ||
      words.some((word) => !word.startsWith('-') && this.#written.has(baseName(word)));
    const isFed = name === 'xargs' && input !== 'names';
    const isOpaque = !given[0]?.isKnown || (!effect.isKnown && isRun) || isFed;
    this.commands.push({ words, effect: isOpaque ? OPAQUE : effect });
    if (effect.does === 'writes') for (const word of words.slice(1)) this.#written.add(baseName(word));
    if (ASSIGNS.test(name))
      for (const word of words.slice(1)) this.#assign(word.slice(0, word.indexOf('=') + 1));
    if (isShell) this.#read(line);
  }

  /** Records an assignment: a name and `=`. */
  #assign(name: string): void {
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
      forEachChild(node, (child) => this.#visit(child, 'nothing'));
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
      if (descriptor && !(descriptor.type === 'FileDescriptor' && descriptor.value < 10)) this.#giveUp();
      if (each.type === 'HereDoc') {
        const { body, delimiter, closing } = each;
        if (closing === undefined || !(delimiter?.quoted || /^[^\\$`]*$/.test(body.text)))
          this.isClear = false;
        if (!delimiter?.quoted) forEachChild(body, (child) => this.#visit(child, 'nothing'));
        isFed ||= !onlyPrints(body.text);
        continue;
      }
      const target = each.target && this.#word(each.target);
      if (!target?.isKnown || NUMBER.test(target.text)) this.isClear = false;
      if (target === undefined || (/&$/.test(operator) && /^(?:\d+|-)$/.test(target.text))) continue;
      this.targets.push(target.text);
      if (operator.includes('>') && !DEVICE.test(target.text)) this.#written.add(baseName(target.text));
      isFed ||= operator.startsWith('<') && target.text !== '/dev/null';
    }
    return isFed;
  }
}
