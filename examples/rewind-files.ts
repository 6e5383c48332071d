// Puts files back as they were before a call: a capability keeps what tools that declare paths are about to overwrite.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Capability, RuntimeContext, readText, SessionKey, type Workspace } from '@x/core';
import { fileSegment, sessionPrefix } from '@x/core/store';
import { HarnessAgent, workspaceTools } from '@x/harness';
import { ScriptedModel } from '@x/testkit';

/** What stood in a file; `null` where there was none. */
type Kept = Readonly<Record<string, string | null>>;

/** Each session's own, also where users name theirs alike. */
const folderOf = (key: SessionKey) => `rewind/${sessionPrefix(key)}${fileSegment(key.parts.sessionId)}`;

/** Keeps each file as it was before the first tool of a call wrote it. A command of the shell names no files: it is not undone. */
const keepFiles: Capability = {
  name: 'keep_files',
  async aroundTool(call, { agentId, tool, workspace, storage, state }, next) {
    const input = call.input as Readonly<Record<string, unknown>>;
    const { tenantId, userId, sessionId } = state;
    const key = SessionKey.of({ tenantId, userId, agentId, sessionId });
    const place = `${folderOf(key)}/${state.activeCall?.startedAt}.json`;
    for (const [name, role] of Object.entries(tool?.paths ?? {})) {
      const path = input[name];
      if ((role !== 'write' && role !== 'edit') || typeof path !== 'string') continue;
      const kept: Kept = (await storage.stat(place)) ? JSON.parse(await readText(storage, place)) : {};
      if (path in kept) continue;
      const before = (await workspace.stat(path)) ? await readText(workspace, path) : null;
      await storage.write(place, JSON.stringify({ ...kept, [path]: before }));
    }
    return next(call);
  },
};

/** Puts back what the latest call changed, and forgets it; the next time it is the call before. */
async function rewindFiles(
  files: Workspace,
  storage: Workspace,
  key: SessionKey,
): Promise<readonly string[]> {
  const places: string[] = [];
  for await (const { path } of storage.list(folderOf(key))) places.push(path);
  const latest = places.sort().at(-1);
  if (latest === undefined) return [];
  const kept: Kept = JSON.parse(await readText(storage, latest));
  for (const [path, text] of Object.entries(kept)) {
    if (text === null) await files.delete(path);
    else await files.write(path, text);
  }
  await storage.delete(latest);
  return Object.keys(kept);
}

const write = (path: string, content: string) => ({ name: 'write_file', input: { path, content } });
const directory = mkdtempSync(join(tmpdir(), 'x-example-'));
const agent = HarnessAgent.builder()
  .model(
    new ScriptedModel([
      { toolCalls: [write('plan.md', 'first')] },
      { text: 'Written.' },
      { toolCalls: [write('plan.md', 'second'), write('plan.md', 'third'), write('new.md', 'new')] },
      { text: 'Changed.' },
    ]),
  )
  .workspace(directory)
  .use(keepFiles, workspaceTools())
  .build();
const session = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });
await agent.call('Write a plan', session);
await agent.call('Change it', session);

const files = agent.files(session);
const key = agent.keyOf(session);
const undone = await rewindFiles(files, agent.storage, key);
const plan = await readText(files, 'plan.md');
console.log(undone, plan);
await rewindFiles(files, agent.storage, key);
const left = await files.stat('plan.md');
await agent.close();
rmSync(directory, { recursive: true });
if (plan !== 'first' || undone.length !== 2 || left !== undefined)
  throw new Error('The files are not as they were.');
