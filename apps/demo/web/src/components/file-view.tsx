import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { size } from '../lib/format.js';
import { ApiError, api } from '../state/api.js';
import { filePath } from '../state/route.js';
import { Button } from './button.js';
import { CodeBlock } from './code-block.js';
import { Markdown } from './markdown.js';
import { ViewFrame } from './view-frame.js';

const text = signal('');
const next = signal<number | undefined>(undefined);
const bytes = signal(0);
const failure = signal('');
const loading = signal(false);

async function load(path: string, offset: number): Promise<void> {
  if (offset === 0) text.value = '';
  loading.value = true;
  try {
    const part = await api.file(path, offset);
    if (path !== filePath.peek()) return;
    text.value += part.text;
    next.value = part.nextOffset;
    bytes.value = part.size;
    failure.value = '';
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    failure.value = error.message;
  } finally {
    if (path === filePath.peek()) loading.value = false;
  }
}

/** A file that the agent wrote, or a result that was too large for the window, a part at a time. */
export function FileView() {
  const path = filePath.value;
  useEffect(() => void load(path, 0), [path]);
  return (
    <ViewFrame title={path} lead={failure.value ? '' : size(bytes.value)}>
      {failure.value && <p class="failure small">{failure.value}</p>}
      {path.endsWith('.md') ? (
        <Markdown text={text.value} />
      ) : (
        text.value && <CodeBlock label={path} text={text.value} figure={size(text.value.length)} />
      )}
      {next.value !== undefined && (
        <Button disabled={loading.value} onClick={() => !loading.peek() && void load(path, next.peek() ?? 0)}>
          Show more of it
        </Button>
      )}
    </ViewFrame>
  );
}
