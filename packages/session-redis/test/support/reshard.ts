import { Redis } from 'ioredis';

interface Master {
  readonly id: string;
  readonly host: string;
  readonly port: number;
  /** Like `0-5460`. */
  readonly slots: readonly string[];
}

/** Moves the slots of these keys from each one's master to the next, key by key, as `redis-cli --cluster reshard` does. */
export async function reshard(address: string, keys: readonly string[]): Promise<void> {
  const { hostname, port } = new URL(address);
  const seed = new Redis(Number(port), hostname);
  const slots = await Promise.all(keys.map((key) => seed.cluster('KEYSLOT', key)));
  for (const slot of new Set(slots)) {
    const masters = parse(String(await seed.cluster('NODES')));
    const from = masters.findIndex((master) => owns(master, slot));
    const source = masters[from];
    const target = masters[(from + 1) % masters.length];
    if (source !== undefined && target !== undefined) await moveSlot(slot, source, target, masters);
  }
  seed.disconnect();
}

/** @see https://redis.io/docs/latest/commands/cluster-setslot/ for the order. */
async function moveSlot(slot: number, source: Master, target: Master, all: readonly Master[]): Promise<void> {
  const clients = new Map(all.map((master) => [master.id, new Redis(master.port, master.host)]));
  const from = clients.get(source.id);
  const to = clients.get(target.id);
  await to?.cluster('SETSLOT', slot, 'IMPORTING', source.id);
  await from?.cluster('SETSLOT', slot, 'MIGRATING', target.id);
  for (;;) {
    const [key] = ((await from?.cluster('GETKEYSINSLOT', slot, 1)) ?? []) as string[];
    if (key === undefined) break;
    await from?.migrate(target.host, target.port, '', 0, 10_000, 'KEYS', key);
  }
  await to?.cluster('SETSLOT', slot, 'NODE', target.id);
  await from?.cluster('SETSLOT', slot, 'NODE', target.id);
  for (const [id, client] of clients) {
    if (id !== source.id && id !== target.id) await client.cluster('SETSLOT', slot, 'NODE', target.id);
    client.disconnect();
  }
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
    .map(([id = '', at = '', , , , , , , ...slots]) => {
      const [host = '', port = ''] = at.replace(/@.*/, '').split(':');
      return { id, host, port: Number(port), slots };
    })
    .sort((left, right) => left.port - right.port);
}
