import { type Command, UsageError } from './command.js';

/** The words that can follow other words, such as `sessions list` → `--json`. */
type Words = ReadonlyMap<string, readonly string[]>;

/** Renders the completion script of a shell: `bash`, `zsh` or `fish`. @throws {UsageError} for any other shell. */
export function completion(commands: readonly Command[], shell = ''): string {
  const render = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (render !== undefined) return render(wordsOf(commands));
  throw new UsageError(
    `Name your shell: x completion ${SHELL_NAMES.join('|')}. Put what it prints where that shell reads completions, for example: x completion bash >> ~/.bashrc`,
  );
}

function wordsOf(commands: readonly Command[]): Words {
  const all = commands.flatMap((command) => [command, ...(command.subcommands ?? [])]);
  const behind = ({ name, options, subcommands = [] }: Command): readonly [string, readonly string[]] => [
    name,
    [...subcommands.map((each) => each.name.split(' ').at(-1) ?? ''), ...flags(options), '--help'],
  ];
  const names = commands.map(({ name }) => name);
  return new Map([
    ['', [...names, 'help', '--help', '--version']],
    ['help', names],
    ...commands.map(({ name, subcommands = [] }): readonly [string, readonly string[]] => [
      `help ${name}`,
      subcommands.map((each) => each.name.split(' ').at(-1) ?? ''),
    ]),
    ...all.map(behind),
    ['completion', [...SHELL_NAMES, '--help']],
  ]);
}

function flags(options: Command['options']): readonly string[] {
  return Object.keys(options).map((name) => `--${name}`);
}

const bash = (words: Words) => `_x() {
  local words= word= cur="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1}" in
${[...words]
  .reverse()
  .map(([name, list]) => `    ${name === '' ? "''" : `'${name}'*`}) words='${list.join(' ')}' ;;`)
  .join('\n')}
  esac
  # Options where one begins; else commands, and where there are none the shell's own, which are files.
  for word in $words; do
    [[ $word == "$cur"* && ( $word != -* || $cur == -* ) ]] && COMPREPLY+=("$word")
  done
}
complete -o default -F _x x`;

const SHELLS: Readonly<Record<string, (words: Words) => string>> = {
  bash,
  zsh: (words) => `autoload -U +X bashcompinit && bashcompinit\n${bash(words)}`,
  fish: (words) =>
    [...words]
      .map(([name, list]) => {
        const when = name === '' ? '__fish_use_subcommand' : seen(name);
        return `complete -c x -n '${when}' -a '${list.join(' ')}'`;
      })
      .join('\n'),
};

/** The supported shells. */
export const SHELL_NAMES = Object.keys(SHELLS);

/** Returns a fish condition: the line contains every word of the command's name. */
function seen(name: string): string {
  return name
    .split(' ')
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join('; and ');
}
