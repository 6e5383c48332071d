// Pays three invoices in one step, and kills itself at the n-th wait.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool, RuntimeContext } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { wrapLeases } from '@x/core/store';
import { HarnessAgent } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { openTestedStore } from '../support/tested-store.js';

const [directory = '', at = '0', tested = ''] = process.argv.slice(2);
let waits = 0;

/** A wait of the call: before it and behind it the process may die. */
async function wait<Value>(work: () => Promise<Value>): Promise<Value> {
  if (++waits === Number(at)) process.kill(process.pid, 'SIGKILL');
  const value = await work();
  if (++waits === Number(at)) process.kill(process.pid, 'SIGKILL');
  return value;
}

const { store, close } = await openTestedStore(JSON.parse(tested));
const { load, commit, leases } = store;
store.load = (key) => wait(() => load.call(store, key));
store.commit = (key, change) => wait(() => commit.call(store, key, change));
if (leases !== undefined) Object.assign(store, { leases: wrapLeases(leases, (_, __, task) => wait(task)) });
const { append } = WorkspaceSessionLog.prototype;
WorkspaceSessionLog.prototype.append = function (messages) {
  return wait(() => append.call(this, messages));
};

const pay = defineTool({
  name: 'pay',
  description: 'Pays an invoice',
  input: { type: 'object' },
  execute: ({ invoice }) =>
    wait(async () => {
      appendFileSync(join(directory, 'paid.txt'), `${invoice}\n`);
      return wait(async () => `paid ${invoice}`);
    }),
});
const toolCalls = [1, 2, 3].map((invoice) => ({ id: `call-${invoice}`, name: 'pay', input: { invoice } }));
const model = new ScriptedModel([
  () => wait(async () => ({ toolCalls })),
  () => wait(async () => ({ text: 'Paid.' })),
]);
const agent = HarnessAgent.builder().model(model).tools(pay).workspace(directory).session(store).build();
await agent.call('Pay the three invoices', RuntimeContext.of({ sessionId: 's' }));
console.log(`waits: ${waits}`);
await agent.close();
await close();
