/**
 * Divides a budget among those who need some of it: nobody gets more than it needs, and what one leaves goes to the
 * others in equal shares (max-min fairness), so that one long file does not crowd out the short ones.
 */
export function shareTokens(needs: readonly number[], budget: number): readonly number[] {
  const shares = needs.map(() => 0);
  const order = [...needs.keys()].sort((left, right) => (needs[left] ?? 0) - (needs[right] ?? 0));
  let rest = budget;
  for (const [done, index] of order.entries()) {
    const share = Math.min(needs[index] ?? 0, Math.floor(rest / (order.length - done)));
    shares[index] = share;
    rest -= share;
  }
  return shares;
}
