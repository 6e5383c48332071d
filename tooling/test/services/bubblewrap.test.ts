import { afterEach, expect, test, vi } from 'vitest';
import setup from '../../services/bubblewrap.js';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test.each(['true', ''])(
  'a machine without bubblewrap fails in continuous integration, and warns elsewhere: CI=%s',
  async (ci) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.spyOn(console, 'log').mockImplementation(() => {});
    // Neither bwrap nor apt-get is found.
    vi.stubEnv('PATH', '');
    vi.stubEnv('CI', ci);
    const done = setup();
    if (ci) await expect(done).rejects.toThrow(/^The tests of sandboxes need bubblewrap/);
    else await done;
    expect(warn).toHaveBeenCalledTimes(ci ? 0 : 1);
  },
);
