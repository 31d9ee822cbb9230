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
