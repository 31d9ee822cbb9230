import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

/** Loading the code of a service leaves as much garbage as code: it is given back soon after the start. */
const firstCheckAfterMs = 5_000
const checkEveryMs = 60_000
/** A collection blocks a thread for 0.1 s, so it runs only on idle threads, and only to release much memory. */
const quietBelow = 0.05
const worthBytes = 8 * 1024 * 1024

/** Figures about a thread's heap. */
export interface Heap {
  /** Bytes that the heap has from the system, used or not. */
  size(): number
  /** Share of the time since the last call in which the event loop was busy, 0 to 1. */
  busy(): number
  /** Collects garbage, and returns free pages to the system. */
  collect(): void
}

/** Decides at each check whether a heap is collected. */
export class IdleHeap {
  readonly #heap: Heap
  #sizeBefore = 0

  constructor(heap: Heap) {
    this.#heap = heap
  }

  check(): void {
    const isQuiet = this.#heap.busy() < quietBelow
    if (!isQuiet || this.#heap.size() < this.#sizeBefore + worthBytes) return
    this.#heap.collect()
    this.#sizeBefore = this.#heap.size()
  }
}

/**
 * Returns memory to the system when this thread is idle: after its start, and when its heap has grown later. An idle
 * event loop allocates nothing, so that V8 would not release that memory for hours. Needs `--expose-gc`, with which
 * `warder start` starts the services; without it nothing is done.
 *
 * @returns ends it
 */
export function releaseMemoryWhenIdle(): () => void {
  const collect = globalThis.gc
  if (collect === undefined) return () => undefined
  let last = performance.eventLoopUtilization()
  const heap = new IdleHeap({
    size: () => getHeapStatistics().total_heap_size,
    busy() {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    // Only a last resort shrinks the heap (Node: `gc` of --expose-gc).
    collect: () => void collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  })
  let timer = setTimeout(() => {
    heap.check()
    timer = setInterval(() => heap.check(), checkEveryMs).unref()
  }, firstCheckAfterMs).unref()
  // The load of the start itself is ignored.
  const started = setTimeout(() => {
    last = performance.eventLoopUtilization()
  }, firstCheckAfterMs / 2).unref()
  return () => {
    clearTimeout(started)
    clearInterval(timer)
  }
}
