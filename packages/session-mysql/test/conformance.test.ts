import type { SeverableProxy } from '@x/test-support';
import { storedSuite } from '@x/test-support/suites';
import { sessionStoreSuite } from '@x/testkit/suites';
import { MysqlSession } from '../src/index.js';
import { proxiedPool } from './support/proxied-pool.js';
import { storedInMysql } from './support/stored.js';
import { testPool, testStore } from './support/test-store.js';

let table: string;
let proxy: SeverableProxy;

sessionStoreSuite({
  name: 'MysqlSession',
  create: async () => {
    // A larger message than the server takes by default, when one was asked for.
    if (process.env.LARGE_PAYLOAD_MIB) await testPool().query('SET GLOBAL max_allowed_packet = 256 << 20');
    const proxied = await proxiedPool();
    proxy = proxied.proxy;
    ({ table } = await testStore());
    return new MysqlSession({ pool: proxied.pool, table });
  },
  reopen: () => new MysqlSession({ pool: testPool(), table }),
  faults: {
    cut: (when) => {
      const sever = { before: proxy.severBefore, during: proxy.severDuring, after: proxy.severReplyTo };
      void sever[when]('');
    },
  },
  setFormat: async (_, format) => {
    await testPool().query(`UPDATE ${table}_format SET format = ${format}`);
  },
  damage: async (of) => {
    const damage = `SET head = '{', session_key = 'no key'`;
    await testPool().query(`UPDATE ${table} ${damage} WHERE session_key = ?`, [`${of}`]);
  },
});

storedSuite('MysqlSession', storedInMysql());
