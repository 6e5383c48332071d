import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';

/** A part of the page that is fetched when it is first shown. */
export function lazyView(title: string, load: () => Promise<ComponentType>): ComponentType {
  const loaded = signal<{ readonly View: ComponentType } | undefined>(undefined);
  const failed = signal(false);
  const fetchIt = () => {
    failed.value = false;
    load().then(
      (View) => {
        loaded.value = { View };
      },
      () => {
        failed.value = true;
      },
    );
  };
  return function LazyView() {
    useEffect(() => {
      if (!loaded.peek()) fetchIt();
    }, []);
    if (loaded.value) return <loaded.value.View />;
    return (
      <main class="view" aria-label={title} aria-busy={!failed.value}>
        {failed.value && (
          <div class="view-content" role="alert">
            <p>This part of the page could not be fetched. Nothing is lost.</p>
            <button type="button" class="button" onClick={fetchIt}>
              Try again
            </button>
          </div>
        )}
      </main>
    );
  };
}
