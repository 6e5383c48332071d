import { type SeverableProxy, sessionStoreSuite } from '@x/testkit';
import { MysqlSession } from '../src/index.js';
import { proxiedPool } from './support/proxied-pool.js';
import { testPool, testStore } from './support/test-store.js';

let table: string;
let proxy: SeverableProxy;

sessionStoreSuite({
  name: 'MysqlSession',
  create: async () => {
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
});
