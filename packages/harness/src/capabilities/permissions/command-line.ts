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

/** Maximum nesting of substitutions and of command lines within words. */
const MAX_DEPTH = 6;
/** Maximum number of programs that the words of one command may name. */
const MAX_USES = 64;
/** Limits for special characters, here-documents and words of a line. Parsing more would delay every call. */
const MAX_SIGNS = 10_000;
const MAX_DOCUMENTS = 64;
const MAX_WORDS = 4_000;

/** A command in any part of a line. */
export interface Command {
  /** Its words without quotes. Expansions are kept as written. */
  readonly words: readonly string[];
  /** True if its program is known and runs no other program. An unknown program may run its words. */
  readonly isUnderstood: boolean;
  /** Effects of its program or, if the program is unknown, of the programs that its words may name. */
  readonly uses: readonly Understood[];
  /** True if its words do not determine what it runs. */
  readonly isOpaque: boolean;
  /** True if it was found in a word of another command, which may run it. */
  readonly isQuoted: boolean;
}

/** A parsed command line. */
export interface CommandLine {
  /** Commands, including those of command lines within words. */
  readonly commands: readonly Command[];
  /** Files that the shell itself opens, for redirections. */
  readonly targets: readonly string[];
  /** True if the line has only simple commands with literal words, all of them understood. */
  readonly isClear: boolean;
  /** True if the line may run other commands than those listed. */
  readonly isOpaque: boolean;
}

/** Parses a command line, including command lines in words of programs that are not understood. */
export function readLine(line: string): CommandLine {
  const reader = new LineReader();
  reader.read(line, 0);
  return reader;
}

/** Matches a word that all shells interpret in the same way. */
export const RAW_WORD = /^(?:[\w./:@%+,=-]|(?<=[\w.])~|'[^'\p{Cc}]*'|"[^"$`\\!\p{Cc}]*")+$/u;

/** Matches a word without separators, which cannot be a command line or code: a glob, a template. */
const UNPARTED = /^[^\s'"\\;&|<>()$!`]*$/;
const DEVICE = /^\/dev\/(?:null|zero|u?random|tty|std(?:in|out|err))$/;

/** Matches paths through which a program reads its standard input as a file. */
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
  /** Base names of files that the line writes. */
  readonly #written = new Set<string>();
  /** True while the parsed line is a word of another command. */
  #isQuoted = false;
  /** True if the previous command of the pipeline prints only file names. */
  #areNamesFed = false;
  /** True if the line changes `PATH`, so that names may refer to other programs. */
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

  /** @param isFed True if the command reads its input from something other than a terminal. */
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
    // An unknown program may run its first argument or its input.
    const first = words.findIndex((word, at) => at > 0 && !/^(?:[-+]|\d+$|[A-Za-z_]\w*=)/.test(word));
    const isRun =
      known === undefined &&
      (isFed || given[first]?.isKnown === false || words.some((word) => this.#couldMatch(word)));
    const isOpaque =
      isRun ||
      !given[0]?.isKnown ||
      isUnclearBuiltin(words) ||
      uses.some((use) => use.isOpaque || (use.takesNames && (isRedirected || !this.#areNamesFed)));
    if (isOpaque) this.isClear = false;
    this.#add({ words, isUnderstood: known !== undefined && !known.runs, uses, isOpaque });
    // It may write files that its other words name, as `cp` and `tee` do.
    if (words[0] === 'tee' || words.some((word) => this.#written.has(baseName(word))))
      for (const word of words.slice(1)) this.#written.add(baseName(word));
    if (known === undefined) for (const { text, isKnown } of given) if (isKnown) this.#mayRun(text, depth);
  }

  #add(command: Pick<Command, 'words' | 'isUnderstood'> & Partial<Command>): void {
    this.commands.push({ uses: [], isOpaque: false, isQuoted: this.#isQuoted, ...command });
  }

  /** Returns the programs that the words of an unknown program may name. */
  #named(words: readonly string[]): readonly Understood[] {
    const uses: Understood[] = [];
    for (let at = 1; at < words.length && uses.length < MAX_USES; at++) {
      const use = understood(words, at);
      if (use !== undefined) uses.push(use);
    }
    if (uses.length === MAX_USES) this.#giveUp();
    return uses;
  }

  /** Tests if a word may refer to content from the line: a file that it writes, its input, or a template. */
  #couldMatch(word: string): boolean {
    return this.#written.has(baseName(word)) || INPUT.test(word) || (word.includes('{}') && word !== '{}');
  }

  /** Parses a word that a program may run as a command line. All its words must mean the same in every shell. */
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

  /** Records the files that redirections open. Returns true if the command's input may be code. */
  #redirect(all: readonly Redirection[], depth: number): boolean {
    let isFed = false;
    for (const each of all) {
      const { descriptor } = each;
      // Some shells read a descriptor with two digits or in braces as a word.
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

  /** Reads `[[ … ]]`, which other shells run as a command. */
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

/** Returns the text that a word means in every shell, or `undefined` if shells may expand it. */
function literalOf(word: Word): { readonly text: string; readonly isNumber: boolean } | undefined {
  const { text: raw, value, pos, end } = word;
  const parts: readonly WordPart[] = word.parts ?? [{ type: 'Literal', text: raw, value, pos, end }];
  let text = '';
  let isNumber = false;
  /** The unquoted characters. */
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

/** Tests if every shell takes these unquoted characters literally. */
function isPlainBare(bare: string): boolean {
  if (/^[[\]]{1,2}$/.test(bare)) return true;
  const open = bare.indexOf('{');
  const inBraces = open < 0 ? '' : bare.slice(open, bare.lastIndexOf('}') + 1);
  // A brace expansion with one of these produces several words.
  if (inBraces.includes(',') || inBraces.includes('..')) return false;
  return !/[*?[\\\p{Cc}]|\$(?!$)|(?<![\w.)^@])~/u.test(bare);
}

/** Tests if every shell takes these double-quoted characters literally. */
function isPlainText(quoted: string): boolean {
  return !/`|\$[\w({[*@#?$!-]/.test(quoted.replaceAll('\\\n', '').replaceAll(/\\[\s\S]/g, ' '));
}

/** Returns the literal text of a quoted here-document in `$(cat <<'E' … )`. */
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
