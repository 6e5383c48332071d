const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/**
 * Runs work, and returns its longest piece without a pause for other work, as a share of its CPU time: 1 if the work never yields. A share,
 * because every piece takes longer on a loaded machine.
 */
export async function longestPiece(work: () => Promise<unknown>): Promise<number> {
  let [last, longest, isOn] = [cpu(), 0, true];
  const tick = () => {
    const now = cpu();
    longest = Math.max(longest, now - last);
    last = now;
    if (isOn) setImmediate(tick);
  };
  setImmediate(tick);
  await new Promise((resolve) => setTimeout(resolve, 20));
  longest = 0;
  const start = cpu();
  await work();
  await new Promise((resolve) => setImmediate(resolve));
  isOn = false;
  return longest / (cpu() - start);
}
