// Makes docs/reference/errors.md: every code that the packages throw, from the tags `@code NAME Meaning. Do: remedy.` of the
// error classes, and the messages that are thrown with it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { httpStatusOf, XError } from '../packages/core/src/index.js';
import { filesBelow, repository } from './checks/workspace.js';

const files = filesBelow(repository, 'packages')
  .filter((file) => /\/src\/.*\.ts$/.test(file))
  .map((file) =>
    ts.createSourceFile(file, readFileSync(join(repository, file), 'utf8'), ts.ScriptTarget.Latest, true),
  );

interface Code {
  readonly type: string;
  readonly name: string;
  readonly meaning: string;
  readonly remedy: string;
}

/** Lists the tags of every class that extends `XError`. */
function codes(): readonly Code[] {
  return files.flatMap((file) =>
    file.statements.filter(ts.isClassDeclaration).flatMap((node) => {
      const type = node.name?.text ?? '';
      if (!node.heritageClauses?.some((clause) => clause.getText() === 'extends XError')) return [];
      const found = ts
        .getJSDocTags(node)
        .filter(({ tagName }) => tagName.text === 'code')
        .map((tag) => {
          const text = (ts.getTextOfJSDocComment(tag.comment) ?? '').replaceAll(/\s+/g, ' ');
          const [, name = '', meaning = '', remedy = ''] = /^(\w+) (.+?) Do: (.+)$/.exec(text) ?? [];
          if (name === '')
            throw new Error(`${file.fileName}: write "@code NAME Meaning. Do: remedy." in ${type}.`);
          return { type, name, meaning, remedy };
        });
      if (found.length === 0) throw new Error(`${file.fileName}: ${type} has no tag @code.`);
      return found;
    }),
  );
}

/** The first argument of these is the subject of a sentence that the class itself completes. */
const SUBJECTS = ['InvalidInputError', 'TimeLimitError'];

/** Collects the texts that are passed to constructors of errors, with `…` for what differs. */
function messages(all: readonly Code[]): readonly (readonly [string, string])[] {
  const types = new Set(all.map(({ type }) => type).filter((type) => !SUBJECTS.includes(type)));
  const found: (readonly [string, string])[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node) && types.has(node.expression.getText())) {
      const texts = (node.arguments ?? []).map((argument) => textOf(argument));
      const type = node.expression.getText();
      const own = all.filter((code) => code.type === type);
      const known = own.find(({ name }) => texts.includes(name)) ?? (own.length === 1 ? own[0] : undefined);
      const message = texts.find((text) => /[a-z] [a-z]/.test(text));
      if (message !== undefined)
        found.push([message.replaceAll(/\s+/g, ' ').replaceAll(/…{2,}/g, '…'), known?.name ?? type]);
    }
    ts.forEachChild(node, visit);
  };
  for (const file of files) visit(file);
  return found;
}

function textOf(node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
  if (ts.isBinaryExpression(node)) return textOf(node.left) + textOf(node.right);
  return ts.isParenthesizedExpression(node) ? textOf(node.expression) : '…';
}

export function renderErrors(): string {
  const all = codes();
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('{{', '{ {').replaceAll('<', '&lt;');
  const status = (name: string) => httpStatusOf(new XError(name, name));
  const rows = all
    .toSorted((left, right) => left.name.localeCompare(right.name))
    .map(
      ({ type, name, meaning, remedy }) =>
        `| \`${name}\` | \`${type}\` | ${cell(meaning)} | ${cell(remedy)} | ${status(name)} |`,
    );
  const thrown = messages(all)
    .map(([message, code]) => `| ${cell(message)} | \`${code}\` |`)
    .toSorted();
  return `# Errors

Generated from the sources. Every error that the packages throw on purpose extends \`XError\`. It has a stable \`code\`, a \`message\` that says what to do,
and the \`cause\`. To test for a class, call \`isInstance\`, for example \`SessionConflictError.isInstance(error)\`. It also works if two copies of a package
are installed. The last column is the HTTP status that \`httpStatusOf(error)\` returns: [when a call fails](../serve-an-agent.md#when-a-call-fails).

| code | class | it means | do | HTTP |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

## Not an error, but surprising

| you see | do |
| --- | --- |
| \`context.compacted\` with \`ineffective\` | read the event's reason: it names what cannot be reduced, often the system prompt or the tools |
| a draft that disappears (\`model.retrying\`, \`draft.discarded\`) | do nothing: after a temporary failure, the request is repeated |
| \`[Set aside, …]\` in the conversation | the provider rejected this content. To bring it back, call \`agent.restoreMessage(session, messageId)\` |
| \`[… cannot be shown to this model: …]\` | if the model can read such files, pass \`accepts\` to \`fromAiSdk\` |
| nearly no tokens come from the prompt cache | keep the time and counters out of the system prompt |
| a tool result that ends in a path | the result was large. The model reads it with \`read_file\`: [large tool results](../large-tool-results.md) |
| a new session instead of an old one | compare user, tenant and agent name, which are parts of a session's key: \`x sessions list\` shows them |
| \`x sessions\` does not list a session in \`.x/\` | [import your own sessions](../trust.md#sessions-in-the-terminal) with \`x sessions copy -w ./workspace\` |
| the warning \`workspace_not_shared\` | with several machines, [share the workspace](../many-machines.md). With one, start Node with \`--disable-warning=workspace_not_shared\` |
| 404 for \`@x/core\` from npm | [install the archives](../choose-a-package.md#before-they-are-on-npm) |
| \`ERR_REQUIRE_ESM\` | use Node 20.19 or newer |

\`x doctor\` checks Node, keys, the agent's file and the store.

## Every message

\`…\` stands for a value.

| message | code |
| --- | --- |
${[...new Set(thrown)].join('\n')}
`;
}
