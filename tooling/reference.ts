// Writes docs/reference/keys.md, every key that configuration files may hold, from the schemas, and docs/reference/errors.md.
// `--check` only reports whether they are up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { agentFileSchema } from '../apps/cli/src/agent/capabilities.js';
import { toSnakeCase } from '../packages/core/src/internal.js';
import { filesBelow, repository } from './checks/workspace.js';
import { renderErrors } from './errors.js';

type Schema = { readonly [keyword: string]: unknown };

/** Where the keys of each capability are explained, in comments above them. */
const sources: Readonly<Record<string, readonly string[]>> = {
  agent: [
    'packages/harness/src/agent/agent-parts.ts',
    'packages/harness/src/agent/limits.ts',
    'packages/harness/src/config',
  ],
  // If two files explain a key of the same name, the first one counts.
  compaction: [
    'packages/compaction/src/config/groups.ts',
    'packages/compaction/src/config',
    'packages/compaction/src/conversation/redaction.ts',
    'packages/compaction/src/stages/preview-args.ts',
    'packages/compaction/src/capability/capability-config.ts',
  ],
  tool_result_eviction: ['packages/compaction/src/eviction'],
  memory: ['packages/memory/src/settings.ts'],
  hooks: ['packages/harness/src/capabilities/hooks.ts'],
  infinity_context: ['packages/compaction/src/config/presets/everruns.ts'],
  session_history: ['packages/memory/src/history', 'packages/memory/src/settings.ts'],
  workspace_context: ['packages/memory/src/workspace-context.ts'],
  agents_files: ['packages/harness/src/capabilities/agents-files.ts'],
  budget: ['packages/harness/src/capabilities/budget'],
  permissions: ['packages/harness/src/capabilities/permissions'],
  plan_mode: ['packages/harness/src/capabilities/plan-mode.ts'],
  shell: ['packages/harness/src/capabilities/shell.ts'],
  skills: ['packages/harness/src/capabilities/skills/skills.ts'],
  subagents: [
    'packages/harness/src/capabilities/subagents/team.ts',
    'packages/harness/src/capabilities/subagents/members.ts',
    'packages/harness/src/agent/agent-parts.ts',
    'packages/harness/src/agent/limits.ts',
    'packages/harness/src/config',
  ],
  todo_list: [],
  tool_groups: ['packages/harness/src/capabilities/tool-groups.ts'],
  workspace_tools: ['packages/harness/src/capabilities/workspace-tools'],
  mcp: ['packages/harness/src/mcp'],
};

/** Where the keys of a group are explained, where the files of its capability explain other keys of the same names. */
const groups: Readonly<Record<string, string>> = {
  trigger: 'packages/compaction/src/run/budget.ts',
  target: 'packages/compaction/src/run/budget.ts',
  keep: 'packages/compaction/src/summary/options.ts',
  summary: 'packages/compaction/src/summary/options.ts',
  saving: 'packages/compaction/src/stages/alter-messages.ts',
  truncate_args: 'packages/compaction/src/stages/truncate-args.ts',
};

/** Meanings in files, where they differ from the comment or have none. */
const meanings: Readonly<Record<string, string>> = {
  'deny[].tool': 'The name of a tool, or a pattern of names.',
  'deny[].match': 'A pattern for the main argument of the tool.',
  'deny[].input': 'Patterns by argument name. All of them must match.',
  'deny[].input.NAME': 'The pattern for this argument.',
  'target.tokens': 'The size in tokens.',
  'summary.prompt': 'The instructions to the model, or the name of a prompt (one word).',
};

function render(): string {
  const schema = agentFileSchema() as Schema;
  const {
    capabilities,
    permissions: _p,
    hooks: _h,
    subagents: _s,
    mcp_servers: _m,
    features: _f,
    ...own
  } = schema.properties as Record<string, Schema>;
  const named = (
    ((capabilities ?? missing('capabilities')).items as Schema).anyOf as readonly Schema[]
  ).filter(({ type }) => type === 'object');
  const sections = named.map(({ properties }) => {
    const { ref, config } = properties as Record<string, Schema>;
    const name = String(ref?.const);
    return `## \`${name}\`\n\n${tablesOf(config ?? {}, sources[name] ?? missing(name))}`;
  });
  return `# Every key

Generated from the schemas. \`x schema > agent.schema.json\` writes a JSON Schema with the same keys, for your editor. [Agents in files](../agent-files.md) shows
an example. [Triggers](../triggers.md) and [summaries](../summaries.md) explain trigger point, target, record and narrative.

## The agent's file

${table(rowsOf({ properties: own }, '', comments(sources.agent ?? [])))}

These keys configure capabilities. Each capability has a section below.

| Key | Value |
| --- | --- |
| \`capabilities\` | a list of names, or of \`{ ref, config }\`: the name and the configuration |
| \`features\` | an object: for each name \`true\`, \`false\` or the configuration |
| \`permissions\`, \`hooks\`, \`subagents\` | the configuration of the capability with this name |
| \`mcp_servers\` | the value of \`servers\` in the configuration of \`mcp\` |

${sections.join('\n\n')}
`;
}

/** Returns a table of the keys without a preset, then one for each preset with the keys that are different. */
function tablesOf(config: Schema, places: readonly string[]): string {
  const presetOf = ({ properties }: Schema) =>
    (properties as Record<string, Schema> | undefined)?.preset?.const;
  const forms = formsOf(config).filter((form) => formsOf(form).length === 1);
  const rowsFor = (preset: unknown, from: readonly string[]) =>
    rowsOf({ anyOf: forms.filter((form) => presetOf(form) === preset) }, '', comments(from)).filter(
      ({ key }) => key !== 'preset',
    );
  const plain = rowsFor(undefined, places);
  const known = new Set(plain.map((row) => JSON.stringify(row)));
  const presets = forms
    .flatMap((form) => presetOf(form) ?? [])
    .map((preset) => {
      const rows = rowsFor(preset, [`packages/compaction/src/config/presets/${preset}.ts`, ...places]);
      const isSame = (row: Row) => known.has(JSON.stringify(row));
      const same = rows.filter((row) => isSame(row) && !row.key.includes('.')).map(({ key }) => `\`${key}\``);
      return `### \`preset: ${preset}\`\n\nThe same as without a preset: ${same.join(', ')}. Instead of the other keys above:\n\n${table(rows.filter((row) => !isSame(row)))}`;
    });
  return [plain.length === 0 ? 'Has no configuration.' : table(plain), ...presets].join('\n\n');
}

interface Row {
  readonly key: string;
  readonly type: string;
  readonly standard: string;
  readonly meaning: string;
}

function rowsOf(schema: Schema, prefix: string, explained: ReadonlyMap<string, string>): readonly Row[] {
  return formsOf(schema)
    .flatMap((form) => {
      const named = Object.entries((form.properties ?? {}) as Record<string, Schema>);
      const open = form.additionalProperties;
      const entries: readonly (readonly [string, Schema])[] =
        named.length > 0
          ? named
          : typeof open === 'object' && open !== null
            ? [['NAME', open as Schema]]
            : [];
      return entries.flatMap(([key, value]) => {
        const path = prefix === '' ? key : `${prefix}.${key}`;
        const group = groups[path];
        const inner = rowsOf(
          itemsOf(value),
          itemsOf(value) === value ? path : `${path}[]`,
          group === undefined ? explained : comments([group]),
        );
        const row: Row = {
          key: path,
          type: typeOf(value),
          standard:
            value.default === undefined || typeof value.default === 'object'
              ? '–'
              : JSON.stringify(value.default),
          meaning: meanings[path] ?? explained.get(key) ?? '–',
        };
        return [row, ...inner];
      });
    })
    .filter(({ key }, index, rows) => rows.findIndex((other) => other.key === key) === index);
}

function itemsOf(schema: Schema): Schema {
  return schema.type === 'array' && schema.items ? (schema.items as Schema) : schema;
}

function formsOf(schema: Schema): readonly Schema[] {
  const choices = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) =>
    Array.isArray(list) ? (list as Schema[]) : [],
  );
  return [schema, ...choices.flatMap(formsOf)];
}

function typeOf(schema: Schema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(', ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = [schema.anyOf, schema.oneOf].flatMap((list) =>
    Array.isArray(list) ? (list as Schema[]) : [],
  );
  if (choices.length > 0) return [...new Set(choices.map(typeOf))].join(' or ');
  if (schema.type === 'array') return `list of ${typeOf((schema.items ?? {}) as Schema)}`;
  return typeof schema.type === 'string' ? schema.type : 'anything';
}

function table(rows: readonly Row[]): string {
  const keys = new Set(rows.map(({ key }) => key.replace(/^.*\./, '')));
  /** Comments name keys as code writes them. */
  const asInFiles = (comment: string) =>
    comment.replaceAll(/(?<=`)\w+(?=`)/g, (name) => (keys.has(toSnakeCase(name)) ? toSnakeCase(name) : name));
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('{{', '{ {');
  const lines = rows.map(
    ({ key, type, standard, meaning }) =>
      `| \`${key}\` | ${cell(type)} | ${standard === '–' ? standard : `\`${cell(standard)}\``} | ${cell(asInFiles(meaning))} |`,
  );
  return ['| Key | Type | Default | Meaning |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

/** The comments above the keys of schemas, by key in snake_case. */
function comments(places: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const files = places.flatMap((place) => (place.endsWith('.ts') ? [place] : filesBelow(repository, place)));
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const text = readFileSync(join(repository, file), 'utf8');
    const visit = (node: ts.Node): void => {
      if (
        ts.isPropertyAssignment(node) ||
        ts.isShorthandPropertyAssignment(node) ||
        ts.isPropertySignature(node)
      ) {
        const key = toSnakeCase(node.name.getText());
        const comment = ts
          .getJSDocCommentsAndTags(node)
          .map((tag) => ts.getTextOfJSDocComment(tag.comment) ?? '')
          .join(' ');
        const line = comment.replaceAll(/\s+/g, ' ').trim();
        if (line !== '' && !found.has(key)) found.set(key, line);
      }
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  }
  return found;
}

function missing(name: string): never {
  throw new Error(`tooling/reference.ts does not know where the keys of ${name} are explained.`);
}

const pages = { 'docs/reference/keys.md': render(), 'docs/reference/errors.md': renderErrors() };
for (const [file, page] of Object.entries(pages)) {
  if (!process.argv.includes('--check')) writeFileSync(join(repository, file), page);
  else if (readFileSync(join(repository, file), 'utf8') !== page) {
    console.error(`${file} is out of date. Run \`npm run reference\`.`);
    process.exitCode = 1;
  }
}
