/** The same signal again within this time is the same request to stop. */
const oneRequestMs = 500

/**
 * Watches for requests to stop: SIGTERM and SIGINT.
 * Ctrl-C in a terminal and systemd (KillMode=control-group) signal every process of a group, and a launcher forwards the
 * copy that it got itself: such a repetition is not the second request that stops at once.
 * @param again is called for another signal, or for the same one later
 * @returns ends the watch
 */
export function watchStopSignals(first: (signal: NodeJS.Signals) => void, again: () => void): () => void {
  let before: { readonly signal: NodeJS.Signals; readonly at: number } | undefined
  const listener = (signal: NodeJS.Signals): void => {
    if (before === undefined) {
      before = { signal, at: performance.now() }
      first(signal)
    } else if (signal !== before.signal || performance.now() - before.at > oneRequestMs) {
      again()
    }
  }
  process.on('SIGTERM', listener)
  process.on('SIGINT', listener)
  return () => {
    process.off('SIGTERM', listener)
    process.off('SIGINT', listener)
  }
}
