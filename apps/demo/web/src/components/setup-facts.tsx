import { exactCount, shortCount } from '../lib/format.js';
import { info, modelLine } from '../state/info.js';

/** Which model, how large its window, when and how it compacts. */
export function SetupFacts() {
  const backend = info.value;
  if (!backend) return null;
  const { contextWindow, triggerTokens, strategy, workspace, version } = backend;
  const rows: readonly (readonly [string, string, string])[] = [
    ['Model', modelLine.value, ''],
    ['Window', `${shortCount(contextWindow)} tokens`, exactCount(contextWindow)],
    ['Compacts at', triggerTokens > 0 ? `${shortCount(triggerTokens)} tokens` : 'never by itself', ''],
    ['Strategy', strategy, ''],
    ['Workspace', workspace, ''],
    ['Version', version, ''],
  ];
  return (
    <dl class="figures">
      {rows.map(([name, value, exact]) => (
        <div key={name} title={exact || undefined}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
