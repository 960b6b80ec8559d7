// What a filter finds, full-text search included.
import { useMemo } from "preact/hooks";
import type { Filter } from "./debates";
import { type Opened, useLater } from "./loading";

/** Rows that a filter leaves; null while words are being looked up. */
export function useFound(opened: Opened, filter: Filter): number[] | null {
  const { source, experiment, debates, state } = opened;
  const key = `${source.name} ${state.index.generation} ${filter.text}`;
  const said = useLater(key, async () => (filter.text.trim() ? source.search(filter.text) : null));
  const isSaid = said.key === key;
  return useMemo(() => {
    if (!debates || (filter.text.trim() && !isSaid)) return null;
    const agentsOf = (cell: string) => experiment.cells.find((one) => one.cell === cell)?.agents ?? [];
    return debates.find(filter, filter.text.trim() ? said.value : null, agentsOf);
  }, [debates, JSON.stringify(filter), isSaid, said.value, experiment]);
}
