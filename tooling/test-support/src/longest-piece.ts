const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/**
 * Does something, and measures for which share of its CPU time others had to wait at most without a turn. A share, because a loaded machine
 * makes every piece dearer. Work that does not rest is one piece.
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
