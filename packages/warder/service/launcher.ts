/**
 * Calls `ended` when the process that started this one over a channel has ended, its launcher (`bin/handover.mjs`) or
 * its supervisor: nobody is left to stop this one. Without a channel it is never called.
 * @returns ends the watch
 */
export function whenParentProcessEnds(ended: () => void): () => void {
  // It had a channel and has none any more.
  if (process.send !== undefined && !process.connected) ended()
  process.on('disconnect', ended)
  return () => void process.off('disconnect', ended)
}

/** Closes that channel, which would keep this process running. */
export function leaveParentProcess(): void {
  if (process.connected) process.disconnect?.()
}
