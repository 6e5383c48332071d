import { useSignal } from '@preact/signals';
import { size } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { filePath } from '../state/view.js';
import { Markdown } from './markdown.js';
import { Button, CodeBlock, ViewFrame } from './parts.js';

/** A file that the agent wrote, or a result that was too large for the window, a part at a time. */
export function FileView() {
  const path = filePath.value;
  return <FileParts key={path} path={path} />;
}

function FileParts({ path }: { readonly path: string }) {
  const text = useSignal('');
  const offset = useSignal(0);
  const { value: part, failure } = useLoaded(async () => {
    const read = await api.file(path, offset.value);
    text.value += read.text;
    return read;
  }, [offset.value]);
  const next = part?.nextOffset;
  return (
    <ViewFrame title={path} lead={part ? size(part.size) : ''} failure={failure}>
      {path.endsWith('.md') ? (
        <Markdown text={text.value} />
      ) : (
        text.value && <CodeBlock label={path} text={text.value} figure={size(text.value.length)} />
      )}
      {next !== undefined && (
        <Button disabled={next === offset.value} onClick={() => (offset.value = next)}>
          Show more
        </Button>
      )}
    </ViewFrame>
  );
}
