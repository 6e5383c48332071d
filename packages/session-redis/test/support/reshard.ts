import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';

interface Master {
  readonly id: string;
  readonly host: string;
  readonly port: number;
  readonly epoch: string;
  /** Like `0-5460`. */
  readonly slots: readonly string[];
}

/**
 * Moves the slots of these keys from each one's master to the next, key by key, as `redis-cli --cluster reshard` does.
 *
 * @param halfway Done in each slot when one of its keys has moved.
 */
export async function reshard(
  address: string,
  keys: readonly string[],
  halfway?: () => Promise<unknown>,
): Promise<void> {
  const { hostname, port } = new URL(address);
  const seed = new Redis(Number(port), hostname);
  const slots = new Set(await Promise.all(keys.map((key) => seed.cluster('KEYSLOT', key))));
  const masters = await mastersOf(seed);
  seed.disconnect();
  const clients = masters.map((master) => new Redis(master.port, master.host));
  try {
    for (const slot of slots) {
      const from = await agreedOwner(slot, clients);
      await moveSlot(slot, [from, (from + 1) % masters.length], { masters, clients, halfway });
    }
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/**
 * The index of the master that owns a slot, once all masters tell the same owners and epochs. A target that has not
 * heard of its source's last epoch would take the slot with a lower one, and lose it to a message already on its way.
 */
async function agreedOwner(slot: number, clients: readonly Redis[]): Promise<number> {
  for (;;) {
    const views = await Promise.all(clients.map(mastersOf));
    const [view = []] = views;
    if (new Set(views.map((each) => JSON.stringify(each))).size === 1) {
      return view.findIndex((master) => owns(master, slot));
    }
    await setTimeout(20);
  }
}

async function mastersOf(client: Redis): Promise<Master[]> {
  return parse(String(await client.cluster('NODES')));
}

/** @see https://redis.io/docs/latest/commands/cluster-setslot/ for the order. */
async function moveSlot(
  slot: number,
  [source, target]: readonly [number, number],
  {
    masters,
    clients,
    halfway,
  }: {
    readonly masters: readonly Master[];
    readonly clients: readonly Redis[];
    readonly halfway: (() => Promise<unknown>) | undefined;
  },
): Promise<void> {
  const [from, to] = [clients[source], clients[target]];
  const [giver, taker] = [masters[source], masters[target]];
  if (from === undefined || to === undefined || giver === undefined || taker === undefined)
    throw new Error('no such master');
  await to.cluster('SETSLOT', slot, 'IMPORTING', giver.id);
  await from.cluster('SETSLOT', slot, 'MIGRATING', taker.id);
  for (let moved = 0; ; moved++) {
    const [key] = (await from.cluster('GETKEYSINSLOT', slot, 1)) as string[];
    if (key === undefined) break;
    await from.migrate(taker.host, taker.port, '', 0, 10_000, 'KEYS', key);
    if (moved === 0) await halfway?.();
  }
  const others = clients.filter((client) => client !== from && client !== to);
  for (const client of [to, from, ...others]) await client.cluster('SETSLOT', slot, 'NODE', taker.id);
}

function owns({ slots }: Master, slot: number): boolean {
  return slots.some((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return first !== undefined && last !== undefined && slot >= first && slot <= last;
  });
}

function parse(nodes: string): Master[] {
  return nodes
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , flags = '']) => flags.includes('master'))
    .map(([id = '', at = '', , , , , epoch = '', , ...slots]) => {
      const [host = '', port = ''] = at.replace(/@.*/, '').split(':');
      return { id, host, port: Number(port), epoch, slots };
    })
    .sort((left, right) => left.port - right.port);
}
