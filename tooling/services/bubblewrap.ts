import { spawnSync } from 'node:child_process';
import { installDebianPackages } from './debian-packages.js';

/** Tests whether `bwrap` is installed and may create namespaces. */
function isUsable(): boolean {
  const args = ['--ro-bind', '/', '/', '--unshare-all', 'true'];
  return spawnSync('bwrap', args, { stdio: 'ignore', timeout: 10_000 }).status === 0;
}

/**
 * A Vitest global setup: installs bubblewrap, if it is missing and root may install packages. Without it, the tests of sandboxes are
 * skipped with a warning. In the project's workflows (`GITHUB_ACTIONS`), which install bubblewrap, they are never skipped.
 *
 * @throws {Error} if `GITHUB_ACTIONS` is set and this machine has no usable bubblewrap.
 */
export default async function setup(): Promise<void> {
  if (isUsable()) return;
  const reason = await installDebianPackages(['bubblewrap']).catch(String);
  if (isUsable()) return;
  const remedy = reason ?? 'allow user namespaces; in a container, run it with --privileged';
  const message = `The tests of sandboxes need bubblewrap (bwrap), which does not work on this machine: ${remedy}.`;
  if (process.env.GITHUB_ACTIONS) throw new Error(message);
  console.warn(`[services] ${message} They are skipped.`);
}
