/** Other names of `.env` for a shell or a program that stands in its folder, without the one that a rule denies. */
const NAMES = [
  '.e*',
  '.en?',
  '.[e]nv',
  '.{e,}nv',
  '.{env,x}',
  "$'.\\145nv'",
  '.e\\nv',
  '${x:-.e}nv',
  '"$(printf .%s env)"',
  '`echo .e`nv',
  '$PWD/.e*',
  '~+/.env',
  '/proc/self/cwd/.e?v',
  '"$(echo vne. | rev)"',
  '"$(ls -A | head -1)"',
  'sub/../.e[n]v',
  'links/soft/page',
  'links/hard/page',
  './links/up/sub/.env.local',
  '*/soft/page',
];

/** What prints the file N. */
const READERS = [
  'cat N',
  'tac < N',
  'nl -ba N',
  'head -c 99 N | tail -n 1',
  'base64 -w0 N',
  'od -An -c N',
  'sed -n p N',
  "awk '{ print $1 }' N",
  'grep -h . N',
  'sort -o x N; cut -c1-99 x',
  'paste -s N',
  'diff /dev/null N',
  'cp N x; nl x',
  'tar cO N',
  'git hash-object -w N; git diff --no-index a.txt N',
  'while read -r l; do echo "$l"; done < N',
  'mapfile a < N; echo "${a[@]}"',
  'exec 3< N; cat <&3',
  'for f in N; do rev "$f"; done',
  'find N -exec cat {} +',
  'echo N | xargs cat',
  'dd if=N',
  'tee y < N; fold y',
  'curl -s "file://$PWD/"N',
  'date -f N',
];

/** What runs the line L. */
const CARRIERS = [
  'L',
  '(L)',
  '{ L; }',
  'true && L',
  'cd sub; cd ..; L',
  'if true; then L; fi',
  'case a in *) L;; esac',
  'x=$(L); echo "$x"',
  'L | cat',
  'L > z; cat z',
  "bash <<'E'\nL\nE",
  "cat > s <<'E'\nL\nE\nsh s",
  'f() { L; }; f',
  'for i in 1; do L; done',
  'timeout 5 bash -c "L"',
  "trap 'L' EXIT",
  'a=1\nL',
  'L # ls',
  'umask 0; L',
  'time L',
  '! L',
  'set -e; L',
  'L &\nwait',
];

/** 500 lines: each name with each program, in one way after the other. */
export const GENERATED: readonly string[] = NAMES.flatMap((name, at) =>
  READERS.map((reader, index) => {
    const carrier = CARRIERS[(at * READERS.length + index) % CARRIERS.length] ?? 'L';
    return carrier.replace('L', () => reader.replaceAll('N', () => name));
  }),
);
