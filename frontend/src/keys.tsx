// The keyboard: one listener, the pages say what their keys do; ? shows them.
import { useEffect, useRef } from "preact/hooks";

export type Keys = Record<string, [string, () => void]>;

export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement;
      const isTyping = at.matches?.("input, select, textarea");
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (isTyping) {
        if (event.key === "Escape") at.blur();
        return;
      }
      const found = current.current[event.key];
      if (!found || (event.key === "Enter" && at.matches?.("a, button, summary, [role=button]"))) return;
      event.preventDefault();
      found[1]();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

const NAMES: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

export function Help({ keys, onClose }: { keys: Keys; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const meanings = Map.groupBy(Object.entries(keys), ([, [meaning]]) => meaning);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {[...meanings].map(([meaning, entries]) => (
          <><dt>{entries.map(([key], place) => <>{place ? " " : ""}<kbd>{NAMES[key] ?? key}</kbd></>)}</dt><dd>{meaning}</dd></>
        ))}
      </dl>
      <form method="dialog"><button type="submit" onClick={(event) => { event.preventDefault(); dialog.current?.close(); }}>Close</button></form>
    </dialog>
  );
}
