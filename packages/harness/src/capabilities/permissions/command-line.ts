import type { CommandArgument, Command as CommandNode, Redirection, SyntaxNode } from 'unbash';
import { forEachChild, parse } from 'unbash';
import { changed, type Effect, effectOf, PRINTS, UNKNOWN } from './programs.js';

/** Maximum cost of a line, which bounds the time of parsing. A special character costs 1, a word 3. */
const MAX_COST = 10_000;
/** Cost of a substitution, a line for `sh -c`, or a here-document. */
const SCRIPT = 160;

/** Matches words that every shell reads alike. They may contain `$?` and other variables that are always numbers. */
const LITERAL =
  /^(?:[\w./:@%+,=^#\]-]|!(?=$|=)|\[(?=$|\[$)|(?<=[\w.)^@])~|\{\w*\}|\\[^\n]|'[^']*'|\$[?!#$]|"(?:[^"$`\\]|\\[^\n]|\$(?:[?!#$]|(?=["\\ ])))*")+$/;
const NUMBER = /\$[?!#$]/;
/** Matches a word with a quoted here-document, as in `git commit -m "$(cat <<'EOF' …)"`. */
const DOCUMENT = /^"\$\(cat <<'(\w+)'\n((?:(?!\1\n).*\n)*(?!\1\n).+)\n\1\n\s*\)"$/;
/** Matches the files of a Git repository in a directory of any name, and other files that determine which programs Git starts. */
const OF_GIT = /(?:^|[/,])(?:\.git(?:config|attributes|modules)?|HEAD|config|hooks|objects)(?:[/,]|$)/i;
/** Matches commands that are builtins in every shell, so neither `PATH` nor a file can replace them. */
const BUILTIN = /^(?:cd|echo|exit|export|false|kill|pwd|test|true|:|\[)$/;
/** Matches parts of a line that some shell reads as other commands: dash takes `((x))` for subshells, and ends `$'\''` earlier. */
const AMBIGUOUS = /^(?:AnsiCQuoted|ArithmeticCommand|Coproc|Function|LocaleString|TestCommand)$/;
/** Matches redirections that all shells read alike: dash takes `a &>f b` for two commands, and bash `9>&-b` for a word `b`. */
const REDIRECTION = /^(?:(?:>[>|]?|<|<<<) .*|[<>]& (?:\d+|-))$/s;
const COMPARISON = /^\[\[ (?:-[a-uw-z] [\w./-]+|\d+ -[a-z]{2} \d+) \]\]$/;

export const baseName = (word: string) => word.slice(word.lastIndexOf('/') + 1);

/**
 * Reads a command line. Returns its commands, including those of substitutions and of `sh -c`. Their words have no
 * quotes; expansions are as written. Files that the shell itself opens, and values of variables, are words of the command
 * `:`, which does nothing. If the line may run other commands, one of the returned commands has the effect `anything`.
 *
 * `isClear` is true if the line has only simple commands with literal words, and no program runs these words. `isKnown`
 * is true if all programs open only files that their words name. `changesAny` is true if a command changes other files.
 */
export function readLine(given: string) {
  // Long because each command depends on what the line has done before.
  const commands: { readonly words: readonly string[]; readonly effect: Effect }[] = [];
  const add = (does: Effect['does'], ...words: string[]) => commands.push({ words, effect: { does } });
  // Base names of files that the line writes. After a change of `PATH`, names may refer to other programs.
  const written = new Set<string>();
  let [isClear, isKnown, isRenamed, cost] = [true, true, false, 0];
  read(given);
  if (cost > MAX_COST) add('anything');
  const does = commands.map(({ effect }) => effect.does).join(' ');
  const changesAny = /changes/.test(does);
  const changer = commands.find(({ effect }) => /writes|changes/.test(effect.does));
  const isApart = ({ words: [name = ':'], effect }: (typeof commands)[number]) =>
    /text|makes/.test(effect.does) && (BUILTIN.test(name) || !(changesAny || written.has(name)));
  // Another command may show or run the files that a command changes or adds.
  isKnown &&= !/files|options|anything|adds.*shows|shows.*adds/.test(does);
  isKnown &&= !changer || commands.every((each) => each === changer || isApart(each));
  isKnown &&=
    !/makes|writes|changes/.test(does) || !OF_GIT.test(commands.flatMap(({ words }) => words).join());
  return { commands, isClear: isClear && !/anything/.test(does), isKnown, changesAny };

  function read(line: string): void {
    if (/[^\P{Cc}\t\n]/u.test(line)) isClear = false;
    cost += (line.match(/[;&|<>(){}[$`'"\n]/g)?.length ?? 0) + (line.split('<<').length - 1) * SCRIPT;
    if (cost <= MAX_COST) visit(parse(line), false, line);
  }

  function visit(node: SyntaxNode, isFed: boolean, line = ''): void {
    const visitAll = () => forEachChild(node, (child) => visit(child, isFed, line));
    const text = line.slice(node.pos, node.end);
    if (node.type === 'Script') {
      cost += SCRIPT;
      if (node.errors?.length) add('anything');
      else if (cost <= MAX_COST) visitAll();
    } else if (node.type === 'Pipeline')
      node.commands.forEach((each, at, all) => {
        // Paths that `find` prints begin with its own arguments or `./`, so they cannot be options.
        visit(each, at === 0 ? isFed : !(isNamed(all[at - 1], 'find') && isNamed(each, 'xargs')), line);
      });
    else if (node.type === 'Command') command(node, isFed);
    else if (node.type === 'Word') wordOf(node);
    // Nodes of these types run each of their commands at most once.
    else if (/^(?:Statement|AndOr|CompoundList|Subshell|BraceGroup|If|Elif)$/.test(node.type)) visitAll();
    else if (COMPARISON.test(text)) add('text', ':', ...text.split(' '));
    else {
      if (AMBIGUOUS.test(node.type)) add('anything');
      isClear = false;
      if (node.type === 'Redirected') visit(node.command, redirect(node.redirects).isRead || isFed);
      else visitAll();
    }
  }

  function command(node: CommandNode, isPiped: boolean): void {
    cost += 3 * (node.prefix.length + node.suffix.length + 1);
    if (cost > MAX_COST) return;
    const { isRead, isWritten } = redirect(node.redirects);
    for (const each of node.prefix) if (each.type === 'Assignment') add('text', ':', wordOf(each).text);
    const parsed = (node.name ? [node.name, ...node.args] : []).map(wordOf);
    const words = parsed.map(({ text }) => text);
    const known = parsed.map(({ text, isLiteral }) => (isLiteral ? text : '$'));
    // A command without a name does nothing.
    const [name = ':', option, line = '$'] = known;
    const isShell = /^(?:ba|da)?sh -c$/.test(`${name} ${option}`) && known.length === 3 && line !== '$';
    const effect: Effect = isShell ? { does: 'runs' } : effectOf([name, ...known.slice(1)]);
    if ((name === 'cd' || !BUILTIN.test(name)) && words.some((word) => NUMBER.test(word))) isClear = false;
    // Any other program may run its input, its first argument, or a file that the line has written.
    const first = words.findIndex((word, at) => at > 0 && !/^(?:[-+]|\d+$|[A-Za-z_]\w*=)/.test(word));
    const isWord = (word: string) => !word.startsWith('-') && written.has(baseName(word));
    const isRun = isRead || isPiped || known[first] === '$' || words.some(isWord);
    const mayRun = UNKNOWN.test(effect.does) || name === 'xargs';
    if ((isRun && mayRun) || (isRenamed && !BUILTIN.test(name) && name !== 'declare'))
      add('anything', ...words);
    else commands.push({ words, effect: isWritten ? changed(effect, /text|reads/, 'writes') : effect });
    if (effect.does === 'writes') for (const word of words) written.add(baseName(word));
    if (name === 'declare' || name === 'export') words.forEach(assign);
    if (isShell) read(line);
  }

  function assign(word: string): void {
    const name = word.slice(0, word.indexOf('=') + 1);
    if (name === 'PATH=') isRenamed = true;
    // Programs do not read options or program names from variables with these names.
    else if (name !== '' && !/^(?:NODE_ENV|(?!\w*path)[a-z]+)=$/.test(name)) isKnown = false;
  }

  function wordOf(node: CommandArgument) {
    const [before, value] = node.type === 'Word' ? ['', node] : [`${node.name}=`, node.value];
    assign(before);
    const document = DOCUMENT.exec(node.text)?.[2];
    const isLiteral = document !== undefined || LITERAL.test(node.text);
    if (!isLiteral) {
      isClear = false;
      // Shells differ in where such an expansion ends.
      if (/\$\{[^}]*['"]/.test(node.text)) add('anything');
      forEachChild(node, (child) => visit(child, false));
    }
    return { text: before + (document ?? (value.type === 'Word' ? value.value : node.text)), isLiteral };
  }

  /** Adds the files that redirections open. Tests if the command's input may be code, and if it writes a file. */
  function redirect(all: readonly Redirection[]) {
    let [isRead, isWritten] = [false, false];
    for (const each of all) {
      const { descriptor, operator } = each;
      // Some shells read a descriptor with two digits or in braces as a word.
      if (descriptor && !(descriptor.type === 'FileDescriptor' && descriptor.value < 10)) add('anything');
      if (each.type === 'HereDoc') {
        const isPlain = each.delimiter?.quoted || /^[^\\$`]*$/.test(each.body.text);
        if (each.closing === undefined || !isPlain) isClear = false;
        if (!/^(?:\w+|'\w+'|"\w+"|\\\w+)$/.test(each.delimiter?.text ?? '')) add('anything');
        forEachChild(each.body, (child) => visit(child, false));
        isRead ||= !PRINTS.test(each.body.text);
        continue;
      }
      const { text, isLiteral } = each.target ? wordOf(each.target) : { text: '', isLiteral: false };
      if (!isLiteral || NUMBER.test(text)) isClear = false;
      if (!REDIRECTION.test(`${operator} ${text}`)) add('anything');
      if (operator.endsWith('&')) continue;
      add('text', ':', text);
      isWritten ||= operator.includes('>') && !/^\/dev\/(?:null|tty|std(?:out|err))$/.test(text);
      if (isWritten) written.add(baseName(text));
      isRead ||= operator.startsWith('<') && text !== '/dev/null';
    }
    return { isRead, isWritten };
  }
}

const isNamed = (node: SyntaxNode | undefined, name: string) =>
  node?.type === 'Command' && node.name?.text === name;
