/** The same signal within this time is part of the same stop request. */
const oneRequestMs = 500

/**
 * Watches for stop requests: SIGTERM and SIGINT.
 * Ctrl-C and systemd (KillMode=control-group) signal every process of a group, and a launcher also forwards its own copy;
 * such a repetition is not a second request, which stops at once.
 * @param again called for another signal, or for the same one later
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

/**
 * Calls `ended` when the parent process that started this one with an IPC channel has ended: its launcher
 * (`bin/handover.mjs`) or its supervisor, which can no longer stop it. Without a channel it is never called.
 * @returns ends the watch
 */
export function whenParentProcessEnds(ended: () => void): () => void {
  // The channel has already been closed.
  if (process.send !== undefined && !process.connected) ended()
  process.on('disconnect', ended)
  return () => void process.off('disconnect', ended)
}

/** Closes the channel, which would keep this process alive. */
export function leaveParentProcess(): void {
  if (process.connected) process.disconnect?.()
}
