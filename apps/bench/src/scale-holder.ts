// Takes the turns of sessions, so that their renewals are spread over time, and keeps them until it is killed.
import { setTimeout as sleep } from 'node:timers/promises';
import { SessionKey } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { storeKinds } from './sessions-stores.js';

const [name = '', address = '', plan = '{}'] = process.argv.slice(2);
const { sessions, spreadMs } = JSON.parse(plan) as { readonly sessions: number; readonly spreadMs: number };
const measured = await storeKinds[name]?.open(address);
for (let session = 0; measured !== undefined && session < sessions; session++) {
  await takeTurn(measured.store, SessionKey.of(`held-${session}`));
  await sleep(spreadMs / sessions);
}
process.send?.('held');
