import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from './problem.js';
import { filesBelow, type Member, members } from './workspace.js';

/** A file outside of the packages that names them. */
interface Register {
  readonly file: string;
  /** How it names a package. */
  readonly nameOf: (member: Member) => string;
  readonly namesIn: (text: string) => readonly string[];
  /** Packages that it must name. */
  readonly requires: (member: Member) => boolean;
  /** Names that need not be packages. */
  readonly others?: readonly string[];
}

const folderOf = ({ folder }: Member) => folder;
const fullName = ({ manifest }: Member) => manifest.name;
const isPackage = ({ folder }: Member) => folder.startsWith('packages/');
const isPublished = ({ manifest }: Member) => manifest.private !== true;
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);
const keysOf = (text: string, field: string) =>
  Object.keys((JSON.parse(text) as Record<string, object>)[field] ?? {});

const REGISTERS: readonly Register[] = [
  {
    file: 'README.md',
    nameOf: folderOf,
    namesIn: (text) => all(text, /\]\(((?:packages|apps)\/[\w-]+)\)/g),
    requires: isPublished,
  },
  {
    file: 'examples/package.json',
    nameOf: fullName,
    namesIn: (text) => keysOf(text, 'dependencies').filter((name) => name.startsWith('@x/')),
    requires: (member) => isPackage(member) && isPublished(member),
  },
  {
    file: 'tooling/budget.json',
    nameOf: folderOf,
    namesIn: (text) =>
      Object.values(JSON.parse(text) as Record<string, { folders: readonly string[] }>)
        .flatMap(({ folders }) => folders)
        .filter((folder) => folder !== ''),
    requires: isPublished,
  },
  {
    file: 'tooling/archives.ts',
    nameOf: folderOf,
    namesIn: (text) => all(text, /^ {2}'((?:packages|apps)\/[\w-]+)': \d+,$/gm),
    requires: isPublished,
  },
  {
    file: 'tooling/peers.mjs',
    nameOf: ({ folder }) => folder.replace('packages/', ''),
    namesIn: (text) => all(text, /adapter: '([\w-]+)'/g),
    requires: () => false,
  },
  {
    file: '.changeset/pre.json',
    nameOf: fullName,
    namesIn: (text) => keysOf(text, 'initialVersions'),
    // The next release adds those that are new.
    requires: () => false,
    others: ['@x/docs', '@x/examples'],
  },
];

/** Finds packages that a file outside of them does not name, and names there of packages that do not exist. */
export function checkRegistrations(root: string): readonly Problem[] {
  const known = [...members(root, 'packages'), ...members(root, 'apps')];
  return [
    ...[...REGISTERS, ...changesets(root)]
      .filter(({ file }) => existsSync(join(root, file)))
      .flatMap((register) => registerProblems(root, register, known)),
    ...known.flatMap((member) => lostEntries(root, member)),
  ];
}

function registerProblems(root: string, register: Register, known: readonly Member[]): readonly Problem[] {
  const { file, nameOf, namesIn, requires, others = [] } = register;
  const named = namesIn(readFileSync(join(root, file), 'utf8'));
  const existing = [...known.map(nameOf), ...others];
  return [
    ...known
      .filter((member) => requires(member) && !named.includes(nameOf(member)))
      .map((member) => ({ file, message: `does not name ${nameOf(member)}` })),
    ...[...new Set(named)]
      .filter((name) => !existing.includes(name))
      .map((name) => ({ file, message: `names ${name}, which does not exist` })),
  ];
}

/** The changes that the next release tells of. */
function changesets(root: string): readonly Register[] {
  return filesBelow(root, '.changeset')
    .filter((file) => file.endsWith('.md') && file !== '.changeset/README.md')
    .map((file) => ({
      file,
      nameOf: fullName,
      namesIn: (text) => all(text.split('\n---')[0] ?? '', /^['"]([^'"]+)['"]:/gm),
      requires: () => false,
      others: [],
    }));
}

/** The sources that the build or the reference of a package takes for entries, and that it does not have. */
function lostEntries(root: string, { folder }: Member): readonly Problem[] {
  return readdirSync(join(root, folder))
    .filter((name) => name === 'tsup.config.ts' || name === 'typedoc.json')
    .flatMap((name) =>
      all(readFileSync(join(root, folder, name), 'utf8'), /['"](src\/[^'"*]+)['"]/g)
        .filter((entry) => !existsSync(join(root, folder, entry)))
        .map((entry) => ({ file: `${folder}/${name}`, message: `names ${entry}, which does not exist` })),
    );
}
