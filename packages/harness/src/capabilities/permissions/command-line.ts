import {
  type CommandArgument,
  type Command as CommandNode,
  forEachChild,
  parse,
  type Redirection,
  type SyntaxNode,
  type TestExpression,
  type Word,
  type WordPart,
} from 'unbash';
import {
  isPlain,
  isUnclearBuiltin,
  onlyPrints,
  printsNames,
  type Understood,
  understood,
} from './programs.js';

/** Substitutions, and lines in words, that are read one within another. */
const MAX_DEPTH = 6;
/** Programs that the words of one command may name. */
const MAX_USES = 64;
/** Signs with a meaning in a line, here-documents, and words. To read more would hold up every call. */
const MAX_SIGNS = 10_000;
const MAX_DOCUMENTS = 64;
const MAX_WORDS = 4_000;

/** A command of a line, in whatever part of it. */
export interface Command {
  /** Its words without quotes. What a shell puts in their place is as written. */
  readonly words: readonly string[];
  /** Its program is understood. Another may run what its words say. */
  readonly isUnderstood: boolean;
  /** What it does with its words, or one that its words may name. */
  readonly uses: readonly Understood[];
  /** Its words don't tell what it runs. */
  readonly isOpaque: boolean;
  /** It stands in a word of another command, which may run it. */
  readonly isQuoted: boolean;
}

/** A command line, as far as it is understood. */
export interface CommandLine {
  /** Also those of lines within words. */
  readonly commands: readonly Command[];
  /** Files that a shell opens. */
  readonly targets: readonly string[];
  /** Whether it consists of simple commands with literal words, each of which is understood. */
  readonly isClear: boolean;
  /** Whether it may run commands beside those. */
  readonly isOpaque: boolean;
}

/** Reads a line, also those that words hold for programs that are not understood. */
export function readLine(line: string): CommandLine {
  const reader = new LineReader();
  reader.read(line, 0);
  return reader;
}

/** A word that shells of every kind read alike. */
export const RAW_WORD = /^(?:[\w./:@%+,=-]|(?<=[\w.])~|'[^'\p{Cc}]*'|"[^"$`\\!\p{Cc}]*")+$/u;

/** A word that is neither a line nor code, since nothing parts it: a pattern of names, a template. */
const UNPARTED = /^[^\s'"\\;&|<>()$!`]*$/;
const DEVICE = /^\/dev\/(?:null|zero|u?random|tty|std(?:in|out|err))$/;

/** What a program is fed, as a file. */
const INPUT = /(?:^|\/)(?:dev\/(?:stdin|fd)|proc)(?:\/|$)/;

export function baseName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1);
}

class LineReader implements CommandLine {
  readonly commands: Command[] = [];
  readonly targets: string[] = [];
  isClear = true;
  isOpaque = false;
  #count = 0;
  /** Names of files that the line writes. */
  readonly #written = new Set<string>();
  /** Whether the line that is read is a word of a command. */
  #isQuoted = false;
  /** Whether the command before in a pipeline prints names of files alone. */
  #areNamesFed = false;
  /** Whether names of programs may mean others. */
  #isRenamed = false;

  read(line: string, depth: number): void {
    if (isTooMuch(line)) {
      this.#giveUp();
      return;
    }
    this.#isRenamed ||= /\bPATH\+?=/.test(line);
    if (/\bCDPATH\b|[^\P{Cc}\t\n]/u.test(line)) this.isClear = false;
    this.#visit(parse(line), false, depth);
  }

  #giveUp(): void {
    this.isOpaque = true;
    this.isClear = false;
  }

  /** @param isFed Whether something else than a terminal is what a command reads. */
  #visit(node: SyntaxNode, isFed: boolean, depth: number): void {
    const visit = (child: SyntaxNode) => this.#visit(child, isFed, depth);
    switch (node.type) {
      case 'Script':
        if (depth > MAX_DEPTH || node.errors?.length) this.#giveUp();
        else forEachChild(node, (child) => this.#visit(child, isFed, depth + 1));
        return;
      case 'Pipeline':
        if (node.prefixes.some((prefix) => prefix.type === 'Time' && (prefix.posix ?? prefix.endOfOptions)))
          this.#giveUp();
        node.commands.forEach((command, at) => {
          this.#areNamesFed = at > 0 && printsNames(this.commands.at(-1)?.words ?? []);
          this.#visit(command, isFed || at > 0, depth);
          this.#areNamesFed = false;
        });
        return;
      case 'Redirected':
        this.#visit(node.command, this.#redirect(node.redirects, depth) || isFed, depth);
        return;
      case 'Command':
        this.#command(node, isFed, depth);
        return;
      case 'TestCommand':
        this.#test(node.expression, depth);
        return;
      case 'Word':
        if (literalOf(node) !== undefined) return;
        break;
      case 'Function':
      case 'Coproc':
        this.#giveUp();
        break;
      case 'Statement':
      case 'AndOr':
      case 'CompoundList':
      case 'Subshell':
      case 'BraceGroup':
      case 'If':
      case 'Elif':
      case 'While':
        forEachChild(node, visit);
        return;
    }
    this.isClear = false;
    forEachChild(node, visit);
  }

  #command(node: CommandNode, wasFed: boolean, depth: number): void {
    this.#count += node.prefix.length + node.suffix.length + 1;
    if (this.#count > MAX_WORDS) {
      this.#giveUp();
      return;
    }
    const isRedirected = this.#redirect(node.redirects, depth);
    const isFed = isRedirected || wasFed;
    for (const each of node.prefix)
      if (each.type === 'Assignment') {
        const { text, isKnown } = this.#word(each, depth);
        if (isKnown) this.#mayRun(text.slice(text.indexOf('=') + 1), depth);
        this.#add({ words: [text], isUnderstood: true });
      }
    if (node.name === undefined) return;
    const given = [node.name, ...node.args].map((word) => this.#word(word, depth));
    const words = given.map(({ text }) => text);
    const known = this.#isRenamed ? undefined : understood(words);
    if (given.some(({ isNumber }) => isNumber) && !known?.takesNumbers) this.isClear = false;
    const uses = known === undefined ? this.#named(words) : [known];
    // A program that is not understood may run what its first argument names, and what it is fed.
    const first = words.findIndex((word, at) => at > 0 && !/^(?:[-+]|\d+$|[A-Za-z_]\w*=)/.test(word));
    const isRun =
      known === undefined &&
      (isFed || given[first]?.isKnown === false || words.some((word) => this.#mayHold(word)));
    const isOpaque =
      isRun ||
      !given[0]?.isKnown ||
      isUnclearBuiltin(words) ||
      uses.some((use) => use.isOpaque || (use.takesNames && (isRedirected || !this.#areNamesFed)));
    if (isOpaque) this.isClear = false;
    this.#add({ words, isUnderstood: known !== undefined && !known.runs, uses, isOpaque });
    // It may write what others of its words name, as `cp` and `tee` do.
    if (words[0] === 'tee' || words.some((word) => this.#written.has(baseName(word))))
      for (const word of words.slice(1)) this.#written.add(baseName(word));
    if (known === undefined) for (const { text, isKnown } of given) if (isKnown) this.#mayRun(text, depth);
  }

  #add(command: Pick<Command, 'words' | 'isUnderstood'> & Partial<Command>): void {
    this.commands.push({ uses: [], isOpaque: false, isQuoted: this.#isQuoted, ...command });
  }

  /** The programs that words of another may name. */
  #named(words: readonly string[]): readonly Understood[] {
    const uses: Understood[] = [];
    for (let at = 1; at < words.length && uses.length < MAX_USES; at++) {
      const use = understood(words, at);
      if (use !== undefined) uses.push(use);
    }
    if (uses.length === MAX_USES) this.#giveUp();
    return uses;
  }

  /** Returns whether a word may hold what the line says: a file that it writes, what it is fed, a template. */
  #mayHold(word: string): boolean {
    return this.#written.has(baseName(word)) || INPUT.test(word) || (word.includes('{}') && word !== '{}');
  }

  /** What a program may take for a line has to be one, of words that every shell reads alike. */
  #mayRun(word: string, depth: number): void {
    if (isPlain(word) || UNPARTED.test(word) || onlyPrints(word)) return;
    const wasQuoted = this.#isQuoted;
    this.#isQuoted = true;
    this.read(word, depth + 1);
    this.#isQuoted = wasQuoted;
  }

  #word(node: CommandArgument, depth: number): { text: string; isKnown: boolean; isNumber: boolean } {
    const value = node.type === 'Word' ? node : node.value;
    const before = node.type === 'Word' ? '' : `${node.name}=`;
    const isSimple = value.type === 'Word' && (node.type === 'Word' || !(node.append || node.index));
    const found = isSimple && (!this.#isQuoted || RAW_WORD.test(value.text)) ? literalOf(value) : undefined;
    if (found !== undefined) return { ...found, text: before + found.text, isKnown: true };
    if (this.#isQuoted) this.#giveUp();
    this.isClear = false;
    forEachChild(node, (child) => this.#visit(child, false, depth));
    return {
      text: value.type === 'Word' ? before + value.value : node.text,
      isKnown: false,
      isNumber: false,
    };
  }

  /** Notes what is opened. Returns whether the command is fed with what may be code. */
  #redirect(all: readonly Redirection[], depth: number): boolean {
    let isFed = false;
    for (const each of all) {
      const { descriptor } = each;
      // Of two digits, or in braces, it is a word in some shells.
      if (descriptor?.type === 'FileDescriptorVariable') this.targets.push(descriptor.name);
      else if (descriptor !== undefined && descriptor.value > 9) this.targets.push(`${descriptor.value}`);
      if (each.type === 'HereDoc') {
        const { body, delimiter, closing } = each;
        const isPlainText = delimiter?.quoted || (body.parts === undefined && !body.text.includes('\\'));
        if (!isPlainText || closing === undefined) this.isClear = false;
        if (!delimiter?.quoted) forEachChild(body, (child) => this.#visit(child, false, depth));
        isFed ||= !onlyPrints(body.text);
        continue;
      }
      const target = each.target && this.#word(each.target, depth);
      if (!target?.isKnown || target.isNumber) this.isClear = false;
      const isFile = target !== undefined && !(/&$/.test(each.operator) && /^(?:\d+|-)$/.test(target.text));
      if (isFile) this.targets.push(target.text);
      if (isFile && each.operator.includes('>') && !DEVICE.test(target.text))
        this.#written.add(baseName(target.text));
      isFed ||= each.operator.startsWith('<') && target?.text !== '/dev/null';
    }
    return isFed;
  }

  /** `[[ … ]]`, of which other shells make commands. */
  #test(node: TestExpression, depth: number): void {
    const words: string[] = ['[['];
    const visit = (child: SyntaxNode) => {
      if (child.type === 'Word') words.push(this.#word(child, depth).text);
      else forEachChild(child, visit);
    };
    forEachChild(node, visit);
    const isNumeric = node.type === 'TestBinary' && /^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator);
    const isKnown =
      (node.type === 'TestUnary' && !/^-[vR]$/.test(node.operator)) ||
      (node.type === 'TestBinary' && !/^[<>]$/.test(node.operator));
    if (!isKnown || (isNumeric && words.slice(1).some((word) => !/^-?\d+$/.test(word)))) this.isClear = false;
    this.#add({ words, isUnderstood: isKnown });
  }
}

/** The text that a word stands for in every shell; `undefined` where one makes something else of it. */
function literalOf(word: Word): { readonly text: string; readonly isNumber: boolean } | undefined {
  const { text: raw, value, pos, end } = word;
  const parts: readonly WordPart[] = word.parts ?? [{ type: 'Literal', text: raw, value, pos, end }];
  let text = '';
  let isNumber = false;
  /** The characters outside of quotes. */
  let bare = '';
  for (const part of parts) {
    const children = part.type === 'DoubleQuoted' ? part.parts : [part];
    const document =
      part.type === 'DoubleQuoted' && children.length === 1 ? documentOf(children[0]) : undefined;
    if (part.type === 'Literal') bare += part.text.replaceAll(/\\[^\n]/g, "'");
    else bare += "'";
    for (const child of children) {
      if (child.type === 'Literal' || child.type === 'SingleQuoted') text += child.value;
      else if (child.type === 'SimpleExpansion' && /^\$[?!#$]$/.test(child.text)) {
        isNumber = true;
        text += '0';
      } else if (document !== undefined) text += document;
      else return undefined;
      if (part.type === 'DoubleQuoted' && child.type === 'Literal' && !isPlainText(child.text))
        return undefined;
    }
  }
  return isPlainBare(bare) ? { text, isNumber } : undefined;
}

/** Returns whether shells agree that these characters outside of quotes stand for themselves. */
function isPlainBare(bare: string): boolean {
  if (/^[[\]]{1,2}$/.test(bare)) return true;
  const open = bare.indexOf('{');
  const inBraces = open < 0 ? '' : bare.slice(open, bare.lastIndexOf('}') + 1);
  // Braces with one of these become several words.
  if (inBraces.includes(',') || inBraces.includes('..')) return false;
  return !/[*?[\\\p{Cc}]|\$(?!$)|(?<![\w.)^@])~/u.test(bare);
}

/** The same for those in double quotes. */
function isPlainText(quoted: string): boolean {
  return !/`|\$[\w({[*@#?$!-]/.test(quoted.replaceAll('\\\n', '').replaceAll(/\\[\s\S]/g, ' '));
}

/** The text of a here-document in `$(cat <<'E' … )`, which stands for itself. */
function documentOf(part: WordPart | undefined): string | undefined {
  if (part?.type !== 'CommandExpansion' || part.script?.commands.length !== 1 || part.script.errors?.length)
    return undefined;
  const [{ command, background } = {}] = part.script.commands;
  if (command?.type !== 'Command' || background || command.name?.text !== 'cat' || command.prefix.length > 0)
    return undefined;
  const [document, ...others] = command.suffix;
  const isWhole =
    document?.type === 'HereDoc' && document.delimiter?.quoted && document.closing !== undefined;
  return isWhole && others.length === 0 ? document.body.text.replace(/(?<!\n)\n+$/, '') : undefined;
}

function isTooMuch(line: string): boolean {
  const signs = line.match(/[;&|<>(){}[$`'"\n]/g)?.length ?? 0;
  return signs > MAX_SIGNS || line.split('<<', MAX_DOCUMENTS + 1).length > MAX_DOCUMENTS;
}
